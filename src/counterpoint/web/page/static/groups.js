// Many cases: which columns flip decisions most, and what another decision costs each group.

import { button, fill, h, svg } from "./dom.js";
import { labelOf, numberText, percent } from "./values.js";

export class Groups {
  constructor(desk) {
    this.desk = desk;
    this.by = h("select", { "aria-label": "Compare groups by", onchange: () => desk.store.change({ groups: this.by.value ? [this.by.value] : [] }) }, h("option", { value: "" }, "nothing"), desk.columns.map((column) => h("option", { value: column.name }, column.label)));
    this.go = button("", () => (this.stop ? this.#cancel() : this.#run()), { class: "strong" });
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
    this.status = h("p", { class: "faint", role: "status" });
    this.old = h("p", { class: "note", role: "status", hidden: true }, "These figures are from before your last change. Explain the cases again to bring them up to date.");
    this.facts = h("div", { class: "grouped" });
    this.about = h("p", { class: "faint" });
    this.node = h("section", { class: "panel", "aria-label": "Groups" }, h("h2", {}, "Many cases at once"), this.about, h("div", { class: "bar" }, h("label", {}, "Compare groups by ", this.by), this.go, this.bar), this.status, this.old, this.facts);
  }

  show() {
    const { state } = this.desk;
    this.by.value = state.groups[0] ?? "";
    this.go.textContent = this.stop ? "Cancel" : "Explain them";
    this.bar.hidden = !this.stop;
    const { search, decision } = state.list;
    const which = [decision ? `decided ${decision}` : "", search ? `with “${search}”` : ""].filter(Boolean).join(" ");
    this.old.hidden = Boolean(this.stop) || !this.explained || this.explained === this.#asked();
    this.about.textContent = `All cases ${which || "of the table"}, with the limits and the setting of this page. Search and filter them under All cases.`;
  }

  // What would be asked now: figures of another question are old.
  #asked() {
    const { list, groups } = this.desk.state;
    const { search, decision } = list;
    return JSON.stringify({ filter: { search, decision }, groups, question: this.desk.questionOfMany() });
  }

  #cancel() {
    this.stop.abort();
  }

  async #run() {
    this.stop = new AbortController();
    this.status.textContent = "";
    const asked = this.#asked();
    this.show();
    const body = JSON.parse(asked);
    let last = null;
    try {
      for await (const part of this.desk.server.stream("groups", body, this.stop.signal)) {
        if (part.error) throw new Error(part.error);
        last = part;
        if (part.facts) this.explained = asked;
        this.bar.value = part.total ? part.done / part.total : 1;
        this.#draw(part);
      }
      if (last && !last.total) this.status.textContent = "No case fits the filter.";
    } catch (error) {
      this.status.textContent = error.name === "AbortError" ? `Cancelled${last ? ` after ${last.done} of ${last.total} cases` : ""}.` : error.message;
    }
    this.stop = null;
    this.show();
  }

  #draw(part) {
    this.status.textContent = `${part.done} of ${part.total} cases explained${part.found > part.total ? `, drawn evenly from ${part.found}` : ""}.`;
    const { facts } = part;
    if (!facts) return;
    const features = facts.features.map((each) => [labelOf(each.name), each.share, `${percent(each.share)}${ways(each)}`]);
    const longest = Math.max(...facts.features.map((each) => each.share), 0.01);
    fill(
      this.facts,
      h("h3", {}, "What flips decisions"),
      h("p", { class: "faint" }, `Share of ${facts.asking} cases whose nearest answer changes a column.${facts.without ? ` ${facts.without} have no answer.` : ""}${facts.already ? ` ${facts.already} have the wanted decision already.` : ""}`),
      h("table", { class: "bars" }, h("tbody", {}, features.map(([name, share, text]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "draw" }, barOf(share / longest)), h("td", {}, text))))),
      facts.splits.map((split) => this.#split(split)),
    );
  }

  #split(split) {
    const most = Math.max(...split.groups.map((group) => group.high ?? 0), 1e-12);
    return [
      h("h3", {}, `Distance to another decision, by ${labelOf(split.name).toLowerCase()}`),
      h(
        "table",
        { class: "bars" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Group"), h("th", { scope: "col" }, "Middle half, and median"), h("th", { scope: "col", class: "figure" }, "Median"), h("th", { scope: "col", class: "figure" }, "No answer"), h("th", { scope: "col", class: "figure" }, "Cases"))),
        h("tbody", {}, split.groups.map((group) => h("tr", { class: group.small ? "small" : "" }, h("th", { scope: "row" }, group.name), h("td", { class: "draw" }, group.found ? rangeOf(group.low / most, group.median / most, group.high / most) : "no answer"), h("td", { class: "figure" }, group.found ? numberText(group.median, 2) : ""), h("td", { class: "figure" }, percent(group.without)), h("td", { class: "figure" }, String(group.cases))))),
      ),
      split.text ? h("p", {}, split.text) : null,
      split.groups.some((group) => group.small) ? h("p", { class: "faint" }, "Groups in grey are small: a few more cases could change their figures considerably.") : null,
    ];
  }
}

function ways(each) {
  const parts = [each.up ? `${each.up} up` : "", each.down ? `${each.down} down` : ""].filter(Boolean);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

function barOf(share) {
  return svg("svg", { class: "meter tall", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "part", width: 100 * share, height: 4 }));
}

function rangeOf(low, middle, high) {
  return svg(
    "svg",
    { class: "meter tall", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "whole", x: 0, y: 1.7, width: 100, height: 0.6 }),
    svg("rect", { class: "half", x: 100 * low, width: Math.max(0.6, 100 * (high - low)), height: 4 }),
    svg("rect", { class: "part", x: Math.max(0, 100 * middle - 0.6), width: 1.2, height: 4 }),
  );
}
