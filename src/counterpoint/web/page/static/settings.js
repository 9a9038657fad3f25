// What kind of answers is wanted: the named settings, the decision wanted, and the most changes.

import { fill, freshId, h } from "./dom.js";
import { numberText } from "./values.js";

export class Settings {
  constructor(desk) {
    this.desk = desk;
    this.name = freshId("setting");
    this.kinds = h("fieldset", { class: "switch" }, h("legend", { class: "unseen" }, "Kind of answers"), desk.about.settings.map((each) => this.#kind(each)));
    this.kinds.hidden = !desk.about.settings.length;
    this.most = h("select", { "aria-label": "Most changes at once", onchange: () => desk.store.change({ most: Number(this.most.value) === (desk.about.most ?? 0) ? null : Number(this.most.value) }) }, h("option", { value: "0" }, "any number of changes"), [...new Set([1, 2, 3, 4, ...(desk.about.most ? [desk.about.most] : [])])].map((count) => h("option", { value: String(count) }, count === 1 ? "one change" : `at most ${count} changes`)));
    this.wanted = h("span", {});
    this.node = h("div", { class: "settings" }, this.kinds, h("div", { class: "line" }, this.most, this.wanted));
    this.#drawWanted();
  }

  #kind(each) {
    return h("label", { title: each.about }, h("input", { type: "radio", name: this.name, value: each.name, "aria-label": `${each.label}: ${each.about}`, onchange: () => this.desk.store.change({ setting: each.name === this.desk.about.setting ? null : each.name }) }), h("span", {}, each.label));
  }

  show() {
    const { state, about } = this.desk;
    for (const radio of this.kinds.querySelectorAll("input")) radio.checked = radio.value === (state.setting ?? about.setting);
    this.most.value = String(state.most ?? about.most ?? 0);
    this.refresh?.();
  }

  #drawWanted() {
    const { about } = this.desk;
    if (about.target?.given) fill(this.wanted);
    else if (about.numbers) this.#drawInterval();
    else if (about.decisions.length > 2) this.#drawClasses();
  }

  #drawClasses() {
    const { about, store } = this.desk;
    const select = h("select", { "aria-label": "Decision wanted", onchange: () => store.change({ target: select.value === "" ? null : about.decisions[Number(select.value)].value }) }, h("option", { value: "" }, "any other decision"), about.decisions.map((each, index) => h("option", { value: String(index) }, each.text)));
    this.refresh = () => {
      const place = about.decisions.findIndex((each) => JSON.stringify(each.value) === JSON.stringify(this.desk.state.target));
      select.value = place < 0 ? "" : String(place);
    };
    fill(this.wanted, select);
  }

  #drawInterval() {
    const { about, store } = this.desk;
    const ends = ["low", "high"].map((name) =>
      h("input", {
        type: "text",
        inputmode: "decimal",
        placeholder: "any",
        "aria-label": name === "low" ? "Output at least" : "Output at most",
        onchange: () => {
          const read = ends.map((input) => (input.value.trim() === "" ? null : Number(input.value)));
          if (read.every((end) => end === null) || read.some(Number.isNaN)) this.show();
          else store.change({ target: { low: read[0], high: read[1] } });
        },
      }),
    );
    this.refresh = () => {
      const target = this.desk.state.target ?? about.target ?? {};
      ["low", "high"].forEach((name, index) => {
        if (document.activeElement !== ends[index]) ends[index].value = target[name] === null || target[name] === undefined ? "" : numberText(target[name]).replaceAll(",", "");
      });
    };
    fill(this.wanted, "output between ", ends[0], " and ", ends[1]);
  }
}
