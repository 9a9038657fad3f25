// Pinned answers side by side with the case.

import { button, fill, h, icon } from "./dom.js";

export class Compare {
  constructor(desk) {
    this.desk = desk;
    this.table = h("table", {});
    this.node = h("section", { class: "panel compare", "aria-label": "Pinned answers" }, h("h2", {}, "Pinned answers"), h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Comparison of pinned answers" }, this.table));
  }

  show() {
    const { desk } = this;
    const { pins } = desk.state;
    this.node.hidden = !pins.length;
    if (!pins.length || !desk.values) return;
    const differing = desk.columns.filter((column) => pins.some((pin) => column.name in pin.changes && pin.changes[column.name] !== desk.values[column.name]));
    fill(
      this.table,
      h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, "Case"), pins.map((_, index) => this.#head(index)))),
      h("tbody", {}, differing.map((column) => h("tr", {}, h("th", { scope: "row" }, column.label), h("td", {}, column.text(desk.values[column.name])), pins.map((pin) => this.#cell(pin, column))))),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "Decision"), h("td", {}, desk.decision?.decision_text ?? ""), pins.map((pin) => h("td", {}, pin.decision)))),
    );
  }

  #head(index) {
    const remove = () => this.desk.store.change({ pins: this.desk.state.pins.filter((_, place) => place !== index) });
    const letter = String.fromCharCode(65 + index);
    return h("th", { scope: "col" }, letter, button(icon("no"), remove, { class: "quiet", "aria-label": `Unpin ${letter}` }));
  }

  #cell(pin, column) {
    const value = column.name in pin.changes ? pin.changes[column.name] : this.desk.values[column.name];
    const differs = value !== this.desk.values[column.name];
    return h("td", { class: differs ? "to" : "faint" }, differs ? column.text(value) : "·");
  }
}
