// One case on the desk: holds the state, asks the server when it changes, and shows what comes back.

import { Newest } from "./api.js";
import { Cards, meter, neededShare, safeShare, scoreText } from "./cards.js";
import { Compare } from "./compare.js";
import { button, fill, h, icon } from "./dom.js";
import { Features } from "./features.js";
import { constraintsOf, withLimits } from "./limits.js";
import { Map2d } from "./map.js";
import { Settings } from "./settings.js";
import { Column } from "./values.js";

// While a person types or drags, the decision follows at once and the answers after this pause.
const PAUSE = 110;
// The row of a case that a person types; it begins with what is usual.
export const NEW = "new";

export class Desk {
  constructor(server, about, store) {
    this.server = server;
    this.newest = new Newest(server);
    this.about = about;
    this.store = store;
    this.columns = about.columns.map((facts) => new Column(facts));
    this.cards = [];
    this.asked = {};
    this.shows = [];
    this.features = new Features(this);
    this.answers = new Cards(this);
    this.compare = new Compare(this);
    this.map2d = new Map2d(this);
    this.settings = new Settings(this);
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.live = h("p", { class: "unseen", role: "status" });
    this.verdict = h("div", { class: "verdict" });
    this.chooser = h("div", { class: "chooser" });
    this.heading = h("h2", {});
    this.node = h(
      "div",
      { class: "desk" },
      h("section", { class: "panel case", "aria-label": "The case" }, this.chooser, this.verdict),
      h("section", { class: "panel values", "aria-label": "Values, and what may change" }, this.features.node),
      h(
        "div",
        { class: "right" },
        h("section", { class: "panel answers", "aria-label": "Answers" }, this.heading, this.settings.node, this.problem, this.answers.node, this.live),
        this.compare.node,
        this.map2d.node,
      ),
    );
    store.listen((state) => this.#changed(state));
  }

  get state() {
    return this.store.state;
  }

  get values() {
    return this.base ? { ...this.base, ...this.state.edits } : null;
  }

  // What is asked of the server now.
  question() {
    const { state } = this;
    const question = { values: this.values, constraints: constraintsOf(this.columns, state, this.about) };
    if (state.setting) question.setting = state.setting;
    else if (this.about.setting && this.about.settings.length) question.setting = this.about.setting;
    const target = state.target ?? this.#otherDecisions();
    if (target !== null) question.target = target;
    if (state.no.length) question.exclude = state.no;
    return question;
  }

  // Any decision but the one that the case had before it was changed here: once it is reached, nothing has to
  // change any more.
  #otherDecisions() {
    const { about } = this;
    if (about.target !== null || about.decisions.length < 2) return null;
    return about.decisions.map((each) => each.value).filter((value) => JSON.stringify(value) !== JSON.stringify(this.baseDecision));
  }

  // The same of many cases, each of which wants another decision than its own.
  questionOfMany() {
    const { values, target, ...question } = this.question();
    return this.state.target === null ? question : { ...question, target };
  }

  ask(name, body) {
    return this.newest.ask(name, body).catch((error) => this.fail(error));
  }

  fail(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
    this.node.classList.remove("busy");
    this.onfail?.(error);
  }

  async start() {
    if (this.state.row === null) this.store.settle({ row: this.about.start });
    else await this.#changed(this.state);
  }

  // ------------------------------------------------------------ what a person does

  pick(index) {
    this.store.change({ view: "case", row: index, edits: {}, no: [], pins: [] });
  }

  edit(name, value, goesOn) {
    const edits = { ...this.state.edits, [name]: value };
    const column = this.columns.find((each) => each.name === name);
    const was = this.base?.[name];
    // The date 2024-02-29 and its midnight are the same.
    const same = column.isTrack ? column.number(value) === column.number(was) : JSON.stringify(value) === JSON.stringify(was);
    if (same) delete edits[name];
    this.store.change({ edits }, { goesOn });
  }

  unedit(name) {
    const { [name]: _, ...edits } = this.state.edits;
    this.store.change({ edits });
  }

  // Takes over one change: x has it now, and keeps it while the rest is solved for.
  take(change) {
    const column = this.columns.find((each) => each.name === change.feature);
    this.store.change({ edits: { ...this.state.edits, [change.feature]: change.to }, limits: withLimits(column, this.state, { lock: true }) });
  }

  pinned(card) {
    const own = JSON.stringify(changesOf(card));
    return this.state.pins.findIndex((pin) => JSON.stringify(pin.changes) === own);
  }

  pin(card) {
    const place = this.pinned(card);
    const pins = place >= 0 ? this.state.pins.filter((_, index) => index !== place) : [...this.state.pins, { changes: changesOf(card), decision: card.decision_text }];
    this.store.change({ pins });
  }

  release(constraints) {
    let { limits, most } = this.state;
    for (const { kind, feature } of constraints) {
      if (kind === "most") most = 0;
      const column = this.columns.find((each) => each.name === feature);
      const free = { lock: { lock: false }, range: { range: null }, way: { way: null }, cost: { cost: "normal" }, max_change: { reach: null } }[kind];
      if (column && free) limits = withLimits(column, { limits }, free);
    }
    this.store.change({ limits, most });
  }

  async askWhy() {
    this.reasons = "asking";
    this.answers.show();
    this.reasons = (await this.ask("why", { question: this.question() })) ?? null;
    this.answers.show();
  }

  // ------------------------------------------------------------ what follows from it

  async #changed(state) {
    if (state.row !== this.baseRow) await this.#load(state.row);
    // The question goes out first: the server works on it while the rest of the page is drawn.
    const following = this.base && state.row === this.baseRow ? this.#follow() : null;
    this.show();
    await following;
  }

  async #follow() {
    const key = JSON.stringify(this.question());
    if (key === this.asked.answers) return;
    this.asked.answers = key;
    this.reasons = null;
    this.newest.stop("why");
    clearTimeout(this.timer);
    this.node.classList.add("busy");
    if (this.store.dragging) {
      this.#decide();
      this.timer = setTimeout(() => this.#answer(), PAUSE);
    } else {
      await this.#answer();
    }
  }

  async #load(row) {
    if (row === null) return;
    const found = await this.ask("row", { index: row === NEW ? null : row });
    if (!found) return;
    this.base = found.values;
    this.baseDecision = found.decision;
    this.baseRow = row;
    this.flips = null;
    this.map = null;
    this.cards = [];
    this.answer = null;
  }

  async #decide() {
    const found = await this.ask("decide", { question: this.question() });
    if (found) this.#decided(found);
  }

  #decided(found) {
    this.decision = found;
    this.#showVerdict();
  }

  async #answer() {
    const question = this.question();
    const found = await this.ask("answers", { question });
    if (!found) return;
    this.problem.hidden = true;
    this.answer = found;
    this.cards = found.answers;
    const same = this.decision?.decision_text === found.decision_text;
    this.#decided({ ...found, already: found.shortfall?.already ?? false, score: same ? this.decision.score : null });
    this.node.classList.remove("busy");
    this.show();
    const count = this.cards.length;
    this.live.textContent = `${count} ${count === 1 ? "answer" : "answers"}. The decision is ${found.decision_text}.`;
    window.dispatchEvent(new CustomEvent("counterpoint:answered", { detail: count }));
    await this.#around(question);
  }

  // What is drawn around the answers: where decisions flip, and the map.
  async #around(question) {
    const plain = { values: question.values, ...(question.target === undefined ? {} : { target: question.target }) };
    const { cards, answer } = this;
    if (this.about.has_scores) {
      const scores = await this.ask("scores", { question: plain, answers: cards.map((card) => card.values) });
      if (!scores || answer !== this.answer) return;
      cards.forEach((card, index) => Object.assign(card, { score: scores.answers[index] }));
      this.answers.showScores();
      this.#decided({ ...this.decision, score: scores.score });
    }
    const key = JSON.stringify(plain);
    if (key !== this.asked.flips || !this.flips) {
      this.asked.flips = key;
      const flips = await this.ask("flips", { question: plain });
      if (flips) {
        this.flips = flips;
        this.features.show();
      }
    }
    if (answer !== this.answer) return;
    const map = await this.ask("map", { question: plain, answers: cards.map((card) => card.values) });
    if (map && answer === this.answer) {
      this.map = map;
      this.map2d.show();
    }
  }

  show() {
    this.features.show();
    this.answers.show();
    this.compare.show();
    this.map2d.show();
    this.settings.show();
    this.#showChooser();
    this.#showVerdict();
    for (const show of this.shows) show();
  }

  #showChooser() {
    const { row } = this.state;
    const last = this.about.cases - 1;
    const edited = Object.keys(this.state.edits).length;
    const isNew = row === NEW;
    const focused = this.chooser.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    fill(
      this.chooser,
      h("h2", {}, isNew ? "A new case" : edited ? `Case ${row + 1}, changed` : `Case ${row + 1}`),
      last > 0 ? [
      button(icon("left"), () => this.pick(row - 1), { class: "quiet", disabled: isNew || row <= 0, "aria-label": "Case before" }),
      button(icon("right"), () => this.pick(row + 1), { class: "quiet", disabled: isNew || row >= last, "aria-label": "Next case" }),
      button("Pick another", () => this.store.change({ view: "cases" }), { class: "link" }),
      ] : null,
      edited ? button("Set back", () => this.store.change({ edits: {} }), { class: "link" }) : null,
    );
    if (focused) this.chooser.querySelector(`[aria-label="${focused}"]`)?.focus();
  }

  #showVerdict() {
    const { decision } = this;
    if (!decision) return;
    const { score } = decision;
    fill(
      this.verdict,
      h("div", {}, h("span", { class: "faint" }, this.about.numbers ? "Output" : "Decision"), h("strong", { class: decision.already ? "has" : "" }, decision.decision_text)),
      score ? h("div", { class: "score" }, h("span", { class: "faint" }, `Score of ${score.of}`), h("span", {}, `${scoreText(score, score.value)}, needs ${scoreText(score, score.needed)}`), meter(safeShare(score), neededShare(score))) : null,
    );
    fill(this.heading, decision.already ? "Nothing has to change" : "What would change the decision");
  }
}

function changesOf(card) {
  return Object.fromEntries(card.changes.map((change) => [change.feature, change.to]));
}
