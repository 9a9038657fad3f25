// Starts the page.

import { Server } from "./api.js";
import { Desk } from "./desk.js";
import { button, fill, h } from "./dom.js";
import { Groups } from "./groups.js";
import { Menu } from "./menu.js";
import { Picker } from "./picker.js";
import { AddressMemory, Store } from "./state.js";

const VIEWS = [["case", "One case"], ["cases", "All cases"], ["groups", "Groups"]];

async function begin(root) {
  const server = new Server();
  let about;
  try {
    about = await server.ask("about", {});
  } catch (error) {
    fill(root, h("p", { class: "problem", role: "alert" }, error.message));
    return;
  }
  if (about.kind === "table") await tables(root, server, about);
  else (await import("./signals.js")).showSignals(root, server, about);
}

async function tables(root, server, about) {
  const store = new Store((onmove) => new AddressMemory(onmove));
  const desk = new Desk(server, about, store);
  const views = { case: desk, cases: new Picker(desk), groups: new Groups(desk) };
  const menu = new Menu(desk);
  const tabs = VIEWS.map(([name, text]) => button(text, () => store.change({ view: name }), { class: "tab", "data-view": name }));
  const failed = h("p", { class: "problem", role: "alert", hidden: true });
  fill(root, head(about, tabs, menu.node), failed, h("main", {}, Object.values(views).map((view) => view.node)));
  desk.onfail = (error) => {
    failed.textContent = error.message;
    failed.hidden = store.state.view === "case";
  };
  desk.shows.push(() => {
    const { view } = store.state;
    for (const [name, each] of Object.entries(views)) each.node.hidden = name !== view;
    for (const tab of tabs) tab.setAttribute("aria-current", tab.dataset.view === view ? "page" : "false");
    if (view !== "case") views[view].show();
    failed.hidden = true;
    menu.show();
  });
  window.counterpoint = desk;
  await desk.start();
}

export function head(about, tabs, tools) {
  document.title = about.title ? `${about.title} · Counterpoint` : "Counterpoint";
  return h("header", {}, h("h1", {}, h("span", { class: "brand" }, "Counterpoint"), about.title ? h("span", { class: "title" }, about.title) : null), tabs.length ? h("nav", { "aria-label": "Views" }, tabs) : null, tools);
}

// A fault of the page itself is said, and not left to the console.
for (const kind of ["error", "unhandledrejection"]) {
  window.addEventListener(kind, (event) => {
    const said = event.reason?.message ?? event.message;
    document.getElementById("page").prepend(h("p", { class: "problem", role: "alert" }, `Something went wrong on this page: ${said}`));
  });
}

begin(document.getElementById("page"));
