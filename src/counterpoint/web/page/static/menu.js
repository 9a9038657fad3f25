// Undo, redo, copies of the question, and the report.

import { button, fill, h, icon } from "./dom.js";

export class Menu {
  constructor(desk) {
    this.desk = desk;
    this.undo = button(icon("undo"), () => desk.store.undo(), { class: "quiet", "aria-label": "Undo", title: "Undo (Ctrl+Z)" });
    this.redo = button(icon("redo"), () => desk.store.redo(), { class: "quiet", "aria-label": "Redo", title: "Redo (Ctrl+Shift+Z)" });
    this.note = h("span", { class: "copied", role: "status" });
    const items = [
      ...(desk.about.kind === "table" ? [["Copy as Python", () => this.#copy("python")]] : []),
      ...(desk.about.has_command ? [["Copy as a command", () => this.#copy("command")]] : []),
      ...(desk.about.kind === "table" ? [["Copy as a constraints file", () => this.#copy("constraints")]] : []),
      ["Copy the address", () => this.#write(window.location.href)],
      ["Save as a report", () => this.#report()],
    ];
    this.list = h("div", { class: "items" }, items.map(([text, act]) => button(text, () => this.#act(act), { class: "item" })));
    this.menu = h("details", { class: "menu" }, h("summary", { class: "button" }, icon("share"), h("span", {}, "Share")), this.list);
    this.menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
    });
    document.addEventListener("click", (event) => {
      if (!this.menu.contains(event.target)) this.menu.open = false;
    });
    document.addEventListener("keydown", (event) => this.#key(event));
    this.node = h("div", { class: "tools" }, this.note, this.undo, this.redo, this.menu);
  }

  show() {
    this.undo.disabled = !this.desk.store.canUndo;
    this.redo.disabled = !this.desk.store.canRedo;
    fill(this.note);
  }

  #key(event) {
    const typing = event.target.matches?.("input[type=text], input[type=search], input[type=date], textarea");
    if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    event.preventDefault();
    if (event.shiftKey) this.desk.store.redo();
    else this.desk.store.undo();
  }

  #close() {
    this.menu.open = false;
    this.menu.querySelector("summary").focus();
  }

  async #act(act) {
    this.#close();
    this.note.textContent = "";
    try {
      this.note.textContent = (await act()) ?? "";
    } catch (error) {
      this.desk.fail(error);
    }
  }

  async #copy(name) {
    const copies = await this.desk.server.ask("copies", { question: this.desk.question() });
    return this.#write(copies[name]);
  }

  async #write(text) {
    this.desk.copied = text;
    await navigator.clipboard.writeText(text);
    return "Copied";
  }

  async #report() {
    this.note.textContent = "Writing…";
    const { html } = await this.desk.server.ask("report", { question: this.desk.question() });
    const address = URL.createObjectURL(new Blob([html], { type: "text/html" }));
    const link = h("a", { href: address, download: `case-${this.desk.state.row === "new" ? "new" : this.desk.state.row + 1}.html` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    return "Saved";
  }
}
