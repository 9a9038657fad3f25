// The columns of a case: their values, and for each what may change.

import { Chips } from "./chips.js";
import { button, fill, freshId, h, icon } from "./dom.js";
import { limitsOf, limitsText, withLimits } from "./limits.js";
import { Track } from "./track.js";

export class Features {
  constructor(desk) {
    this.desk = desk;
    this.editors = desk.columns.map((column) => new Editor(desk, column));
    this.node = h("div", { class: "features" }, this.editors.map((editor) => editor.node));
  }

  show() {
    for (const editor of this.editors) editor.show();
  }
}

class Editor {
  constructor(desk, column) {
    this.desk = desk;
    this.column = column;
    this.refreshes = [];
    this.id = freshId("feature");
    this.typed = h("input", {
      class: "typed",
      id: this.id,
      type: column.kind === "date" ? "date" : "text",
      inputmode: column.kind === "number" ? "decimal" : null,
      autocomplete: "off",
      "aria-label": column.label,
      oninput: () => this.#type(),
      onchange: () => desk.store.rest(),
      onblur: () => this.show(),
    });
    this.control = column.isTrack
      ? new Track(column, (value) => desk.edit(column.name, value, true), () => desk.store.rest())
      : new Chips(column, (value) => desk.edit(column.name, value, false));
    this.lock = button("", () => this.#say({ lock: !this.#limits.lock }), { class: "quiet lock" });
    this.back = button("", () => desk.unedit(column.name), { class: "quiet back" });
    this.said = h("span", { class: "said" });
    this.form = h("div", { class: "form", id: freshId("limits"), hidden: true });
    this.opener = button([this.said, icon("tune")], () => this.#open(), { class: "quiet opener", "aria-expanded": "false", "aria-controls": this.form.id, title: "What may change" });
    this.node = h(
      "section",
      { class: "feature", "aria-label": column.label },
      h("div", { class: "head" }, column.isTrack ? h("label", { for: this.id, class: "name" }, column.label) : h("span", { class: "name" }, column.label), this.back, column.follows ? h("span", { class: "said" }, "follows from other values") : this.opener, column.isTrack ? this.typed : null, column.follows ? null : this.lock),
      this.form,
      this.control.node,
    );
  }

  get #limits() {
    return limitsOf(this.column, this.desk.state);
  }

  #say(parts) {
    this.desk.store.change({ limits: withLimits(this.column, this.desk.state, parts) });
  }

  #open() {
    this.form.hidden = !this.form.hidden;
    this.opener.setAttribute("aria-expanded", String(!this.form.hidden));
    this.#drawForm();
  }

  #type() {
    const value = this.column.parse(this.typed.value);
    this.typed.setAttribute("aria-invalid", String(value === undefined));
    if (value !== undefined) this.desk.edit(this.column.name, value, true);
  }

  show() {
    const { column, desk } = this;
    const value = desk.values?.[column.name];
    if (value === undefined) return;
    const answers = desk.cards.map((card, index) => [index + 1, card.values[column.name]]).filter(([, each]) => each !== value);
    this.#showControl(value, desk.flips?.[column.name], answers, desk.decision?.decision_text);
    if (document.activeElement !== this.typed) {
      this.typed.value = typedText(value, column);
      this.typed.removeAttribute("aria-invalid");
    }
    const edited = column.name in desk.state.edits;
    const was = desk.base?.[column.name];
    this.back.hidden = !edited;
    if (edited) fill(this.back, `was ${column.text(was)}`, icon("undo"));
    this.back.setAttribute("aria-label", `Set ${column.label} back to ${column.text(was)}`);
    const { lock } = this.#limits;
    if (this.lock.getAttribute("aria-pressed") !== String(lock)) fill(this.lock, icon(lock ? "lock" : "unlock"));
    this.lock.setAttribute("aria-pressed", String(lock));
    this.lock.setAttribute("aria-label", `Keep ${column.label} as it is`);
    this.lock.title = lock ? "May not change. Click to let it change." : "May change. Click to keep it.";
    this.node.classList.toggle("locked", lock);
    this.node.classList.toggle("edited", edited);
    const text = limitsText(column, desk.state);
    this.said.textContent = text;
    this.opener.setAttribute("aria-label", `What may change: ${column.label}${text ? `, ${text}` : ""}`);
    this.#drawForm();
  }

  // Most changes are about another column. What has not changed is not drawn again: answers come sooner.
  #showControl(value, flips, answers, decision) {
    const drawn = [value, flips, decision, JSON.stringify(answers)];
    if (this.drawn && drawn.every((part, index) => part === this.drawn[index])) return;
    this.drawn = drawn;
    this.control.show(value, flips, answers, decision);
  }

  // The form is made once, when it is first opened: drawing it again would take the focus away.
  #drawForm() {
    if (this.form.hidden) return;
    if (!this.form.hasChildNodes()) fill(this.form, this.column.isTrack ? this.#range() : this.#allowed(), this.#way(), this.#cost());
    const limits = this.#limits;
    for (const radio of this.form.querySelectorAll("input[type=radio]")) radio.checked = radio.value === String(limits[radio.dataset.part] ?? "both");
    for (const refresh of this.refreshes) refresh(limits);
  }

  #range() {
    const { column } = this;
    const wrong = h("span", { class: "wrong", role: "alert", hidden: true }, `Give ${column.kind === "date" ? "dates, the earlier" : "numbers, the smaller"} one first.`);
    const ends = [0, 1].map((index) =>
      h("input", {
        type: column.kind === "date" ? "date" : "text",
        inputmode: "decimal",
        placeholder: "any",
        "aria-label": index ? `${column.label} at most` : `${column.label} at least`,
        onchange: () => {
          const read = ends.map((input) => (input.value.trim() === "" ? null : column.parse(input.value)));
          const crossed = !read.includes(null) && column.number(read[0]) > column.number(read[1]);
          wrong.hidden = !read.includes(undefined) && !crossed;
          if (wrong.hidden) this.#say({ range: read.every((end) => end === null) ? null : read });
        },
      }),
    );
    this.refreshes.push(({ range }) =>
      ends.forEach((input, index) => {
        const end = range?.[index] ?? null;
        if (document.activeElement !== input) input.value = end === null ? "" : String(end);
      }),
    );
    return h("div", { class: "line" }, h("span", {}, "between"), ends[0], h("span", {}, "and"), ends[1], wrong);
  }

  #allowed() {
    const { column } = this;
    const allowed = () => this.#limits.range ?? column.categories.map((each) => each.value);
    this.refreshes.push(() => boxes.forEach((box, index) => (box.checked = allowed().includes(column.categories[index].value))));
    const boxes = column.categories.map((category) =>
      h("input", {
        type: "checkbox",
        onchange: (event) => {
          const rest = column.categories.map((each) => each.value).filter((value) => (value === category.value ? event.target.checked : allowed().includes(value)));
          if (!rest.length) event.target.checked = true;
          else this.#say({ range: rest.length === column.categories.length ? null : rest });
        },
      }),
    );
    return h(
      "fieldset",
      { class: "line allowed" },
      h("legend", {}, "may become"),
      h("div", { class: "boxes" }, boxes.map((box, index) => h("label", {}, box, column.categories[index].text))),
    );
  }

  #way() {
    const { column } = this;
    if (!column.isTrack && !column.ordered) return null;
    return this.#choice("direction", "way", [["both", "either way"], ["up", "may only rise"], ["down", "may only fall"]], (value) => ({ way: value === "both" ? null : value }));
  }

  #cost() {
    const levels = [["easy", "easy"], ["normal", "normal"], ["hard", "hard"], ["never", "never"]];
    if (this.column.fixed.cost !== null) levels.push(["fixed", "as set up"]);
    return this.#choice("to change it is", "cost", levels, (value) => ({ cost: value }));
  }

  #choice(legend, part, options, said) {
    const name = freshId(part);
    return h(
      "fieldset",
      { class: "line switch small" },
      h("legend", {}, legend),
      options.map(([value, text]) => h("label", {}, h("input", { type: "radio", name, value, "data-part": part, onchange: () => this.#say(said(value)) }), h("span", {}, text))),
    );
  }
}

// What a field shows before anything is typed: a number with as many digits as fit.
function typedText(value, column) {
  if (value === null) return "";
  if (column.kind === "date") return String(value).slice(0, 10);
  return typeof value === "number" ? String(Number(value.toPrecision(8))) : String(value);
}
