// Images and series: x, the answers, where they differ, and a mask that is drawn on x.

import { Newest } from "./api.js";
import { button, fill, h, icon } from "./dom.js";
import { drawDifference, drawImage, drawSeries } from "./drawings.js";
import { head } from "./main.js";
import { Mask } from "./mask.js";
import { Menu } from "./menu.js";
import { AddressMemory, Store } from "./state.js";
import { numberText } from "./values.js";

const SHELF = 12;

export async function showSignals(root, server, about) {
  const store = new Store((onmove) => new AddressMemory(onmove));
  const easel = new Easel(server, about, store);
  const menu = new Menu(easel);
  fill(root, head(about, [], menu.node), h("main", {}, easel.node));
  easel.shows.push(() => menu.show());
  window.counterpoint = easel;
  await easel.start();
}

class Easel {
  constructor(server, about, store) {
    this.server = server;
    this.newest = new Newest(server);
    this.about = about;
    this.store = store;
    this.shows = [];
    this.cards = [];
    this.mask = new Mask(about, (mask) => store.change({ mask }));
    this.shelf = h("div", { class: "shelf", role: "group", "aria-label": "Cases to pick from" });
    this.pager = h("div", { class: "pager" });
    this.verdict = h("div", { class: "verdict" });
    this.codec = h("select", { "aria-label": "What changes at a time", onchange: () => store.change({ codec: this.codec.value === "own" ? null : this.codec.value }) }, about.codecs.map((each) => h("option", { value: each.name }, each.label)));
    this.wanted = h("select", { "aria-label": "Decision wanted", onchange: () => store.change({ target: this.wanted.value === "" ? null : about.decisions[Number(this.wanted.value)].value }) }, h("option", { value: "" }, "any other decision"), about.decisions.map((each, index) => h("option", { value: String(index) }, each.text)));
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.list = h("ol", { class: "cards" });
    this.note = h("p", { class: "note" });
    this.live = h("p", { class: "unseen", role: "status" });
    this.heading = h("h2", {});
    this.node = h(
      "div",
      { class: "desk easel" },
      h("section", { class: "panel case", "aria-label": "The case" }, this.heading, this.verdict, this.mask.node),
      h("section", { class: "panel values", "aria-label": "Cases" }, h("h2", {}, "Cases"), this.shelf, this.pager),
      h(
        "div",
        { class: "right" },
        h(
          "section",
          { class: "panel answers", "aria-label": "Answers" },
          h("h2", {}, "What would change the decision"),
          h("div", { class: "settings" }, h("label", {}, "Change ", this.codec), about.decisions.length > 2 ? h("label", {}, "to get ", this.wanted) : null),
          this.problem,
          this.list,
          this.note,
          this.live,
        ),
      ),
    );
    store.listen(() => this.#changed());
  }

  get state() {
    return this.store.state;
  }

  question() {
    const { row, codec, mask, target } = this.state;
    return { index: row ?? this.about.start, codec, mask, target };
  }

  fail(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
    this.node.classList.remove("busy");
  }

  async start() {
    if (this.state.row === null) this.store.settle({ row: this.about.start });
    else await this.#changed();
  }

  async #changed() {
    const key = JSON.stringify(this.question());
    const asks = key !== this.asked;
    this.asked = key;
    const answering = asks ? this.#answer() : null;
    this.show();
    await this.#fillShelf();
    await answering;
  }

  async #answer() {
    this.node.classList.add("busy");
    try {
      const found = await this.newest.ask("answers", { question: this.question() });
      if (!found) return;
      this.problem.hidden = true;
      this.answer = found;
      this.cards = found.answers;
      this.node.classList.remove("busy");
      this.live.textContent = `${this.cards.length} answers. The decision is ${found.decision_text}.`;
      this.show();
    } catch (error) {
      this.fail(error);
    }
  }

  async #fillShelf() {
    const start = this.state.list.offset ?? 0;
    if (this.shelved !== start) {
      this.shelved = start;
      this.cases = await this.newest.ask("rows", { offset: start, limit: SHELF });
    }
    if (!this.cases) return;
    fill(this.shelf, this.cases.rows.map((row) => this.#case(row)));
    const move = (offset) => this.store.change({ list: offset ? { offset } : {} });
    fill(
      this.pager,
      button([icon("left"), "Earlier"], () => move(Math.max(0, start - SHELF)), { disabled: start === 0 }),
      h("span", { class: "faint" }, `${start + 1} to ${start + this.cases.rows.length} of ${this.cases.total}`),
      button(["Later", icon("right")], () => move(start + SHELF), { disabled: start + SHELF >= this.cases.total }),
    );
  }

  #case(row) {
    const pick = () => this.store.change({ row: row.index });
    return button([this.#draw(row.cells, "small"), h("span", {}, row.decision)], pick, { class: "pick", "aria-pressed": String(row.index === this.state.row), "aria-label": `Case ${row.index + 1}, decided ${row.decision}` });
  }

  #draw(cells, kind) {
    return this.about.kind === "image" ? drawImage(cells, this.about.shape, kind) : drawSeries([["own", cells]], this.about.shape, kind);
  }

  show() {
    const { state, about, answer } = this;
    this.codec.value = state.codec ?? "own";
    const place = about.decisions.findIndex((each) => JSON.stringify(each.value) === JSON.stringify(state.target));
    this.wanted.value = place < 0 ? "" : String(place);
    this.heading.textContent = `Case ${(state.row ?? 0) + 1}`;
    if (answer) {
      fill(this.verdict, h("div", {}, h("span", { class: "faint" }, "Decision"), h("strong", {}, answer.decision_text)));
      const masks = (name) => about.codecs.find((each) => each.name === name).masks;
      for (const option of this.codec.options) option.disabled = state.mask.length > 0 && !masks(option.value);
      this.mask.show(answer.x, state.mask, masks(this.codec.value));
      fill(this.list, this.cards.map((card, index) => this.#card(card, index)));
      this.note.textContent = answer.note;
    }
    for (const show of this.shows) show();
  }

  #card(card, index) {
    const { shape, kind } = this.about;
    const x = this.answer.x;
    const pictures =
      kind === "image"
        ? [figure(drawImage(x, shape, "large"), "The case"), figure(drawImage(card.cells, shape, "large"), `Answer ${index + 1}: ${card.decision_text}`), figure(drawDifference(x, card.cells, shape), "What differs")]
        : [figure(drawSeries([["own", x], ["answer", card.cells]], shape, "large"), `The case, and answer ${index + 1}: ${card.decision_text}`)];
    return h(
      "li",
      { class: "card" },
      h("div", { class: "headline" }, h("b", { class: "dot", "aria-label": `Answer ${index + 1}` }, String(index + 1)), h("p", { class: "sentence" }, card.sentence)),
      h("div", { class: "pictures" }, pictures),
      h("p", { class: "faint" }, `Distance ${numberText(card.distance, 3)}, ${card.changed} of ${x.length} cells differ.`),
    );
  }
}

function figure(drawing, text) {
  return h("figure", {}, drawing, h("figcaption", {}, text));
}
