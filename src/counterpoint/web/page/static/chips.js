// The categories of a column as chips, coloured by what each would decide.

import { fill, freshId, h } from "./dom.js";
import { percent } from "./values.js";

const MANY = 10;

export class Chips {
  constructor(column, onpick) {
    this.column = column;
    this.onpick = onpick;
    this.name = freshId("chips");
    this.isList = column.categories.length > MANY;
    this.node = this.isList
      ? h("select", { class: "choice", "aria-label": column.label, onchange: (event) => onpick(this.options[event.target.selectedIndex].value) })
      : h("div", { class: "chips", role: "radiogroup", "aria-label": column.label });
  }

  show(value, flips, answers) {
    const known = this.column.categories;
    this.options = known.some((each) => each.value === value) ? known : [...known, { value, text: String(value ?? "missing"), share: 0 }];
    const wanted = new Map((flips?.categories ?? []).map((each) => [each.value, each]));
    if (this.isList) this.#list(value, wanted, answers);
    else this.#chips(value, wanted, answers);
  }

  #chips(value, wanted, answers) {
    const held = this.node.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    fill(this.node, this.options.map((option, index) => this.#chip(option, index, option.value === value, wanted.get(option.value), answers)));
    if (held !== null) this.node.querySelector(`[data-place="${held}"]`)?.focus();
  }

  #chip(option, index, isOwn, decided, answers) {
    const numbers = answers.filter(([, each]) => each === option.value).map(([number]) => number);
    const kind = ["chip", decided?.wanted ? "wanted" : "", isOwn ? "own" : ""].join(" ");
    const said = decided ? `${option.text}: ${decided.decision}. ${percent(option.share)} of known cases` : option.text;
    return h(
      "label",
      { class: kind, title: said },
      h("input", { type: "radio", name: this.name, checked: isOwn, "data-place": String(index), "aria-label": said, onchange: () => this.onpick(option.value) }),
      h("span", {}, option.text),
      numbers.map((number) => h("b", { class: "dot", "aria-hidden": "true" }, String(number))),
    );
  }

  #list(value, wanted, answers) {
    fill(
      this.node,
      this.options.map((option) => {
        const numbers = answers.filter(([, each]) => each === option.value).map(([number]) => `answer ${number}`);
        const flips = wanted.get(option.value)?.wanted ? ["another decision"] : [];
        const more = [...flips, ...numbers].join(", ");
        return h("option", {}, more ? `${option.text} (${more})` : option.text);
      }),
    );
    this.node.selectedIndex = this.options.findIndex((option) => option.value === value);
  }
}
