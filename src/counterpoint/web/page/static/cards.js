// The answers as cards: sentences first, then what changes, what it takes, how plausible and how safe it is.

import { button, fill, h, icon, svg } from "./dom.js";
import { inWords, labelOf, numberText, percent } from "./values.js";

// So many limits that stand in the way are listed.
const SHOWN = 6;

const WAYS = { up: "up", down: "down", other: "changed", missing: "missing", known: "known" };

export function actionText(action) {
  return action.map(([name, way]) => `${labelOf(name)} ${WAYS[way] ?? way}`).join(" and ");
}

export class Cards {
  constructor(desk) {
    this.desk = desk;
    this.list = h("ol", { class: "cards" });
    this.said = h("div", { class: "nos" });
    this.note = h("p", { class: "note" });
    this.why = h("div", { class: "why" });
    this.node = h("div", {}, this.said, this.list, this.note, this.why);
  }

  show() {
    const { desk } = this;
    fill(this.said, desk.state.no.length ? h("span", { class: "faint" }, "Not:") : null, desk.state.no.map((action) => this.#no(action)));
    this.#showCards();
    this.note.textContent = inWords(desk.answer?.note ?? "", desk.columns);
    fill(this.why, this.#whyPart());
  }

  // The same answers are not drawn again, so that a button that was pressed keeps the focus.
  #showCards() {
    const { cards } = this.desk;
    if (cards !== this.drawn) {
      this.drawn = cards;
      this.slots = new Map();
      this.pins = new Map();
      fill(this.list, cards.map((card, index) => this.#card(card, index)));
    }
    for (const [card, pin] of this.pins) {
      const pinned = this.desk.pinned(card) >= 0;
      pin.setAttribute("aria-pressed", String(pinned));
      fill(pin, icon("pin"), pinned ? "Pinned" : "Pin");
    }
  }

  #no(action) {
    const rest = () => this.desk.state.no.filter((each) => JSON.stringify(each) !== JSON.stringify(action));
    return button([actionText(action), icon("no")], () => this.desk.store.change({ no: rest() }), {
      class: "chip gone",
      "aria-label": `Allow again: ${actionText(action)}`,
    });
  }

  #card(card, index) {
    const { desk } = this;
    const number = index + 1;
    const pin = button("", () => desk.pin(card), { class: "quiet", "aria-label": `Pin answer ${number} to compare` });
    this.pins.set(card, pin);
    return h(
      "li",
      { class: "card" },
      h("div", { class: "headline" }, h("b", { class: "dot", "aria-label": `Answer ${number}` }, String(number)), h("p", { class: "sentence" }, inWords(card.sentence, desk.columns))),
      h(
        "table",
        { class: "changes" },
        h("caption", { class: "unseen" }, `What answer ${number} changes`),
        h("tbody", {}, card.changes.map((change) => this.#change(change, number, card.changes.length))),
      ),
      h(
        "div",
        { class: "foot" },
        h("dl", { class: "facts" }, this.#facts(card)),
        h(
        "div",
        { class: "actions" },
        pin,
        button([icon("no"), "Not this one"], () => desk.store.change({ no: [...desk.state.no, card.action] }), { class: "quiet", "aria-label": `Not answer ${number}: look further` }),
        ),
      ),
    );
  }

  #change(change, number, count) {
    const label = labelOf(change.feature);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, label),
      h("td", { class: "from" }, change.from_text),
      h("td", { class: "arrow" }, icon("take")),
      h("td", { class: "to" }, change.to_text),
      h(
        "td",
        { class: "take" },
        change.follows
          ? h("span", { class: "faint" }, "follows")
          : count > 1 || this.desk.cards.length
            ? button("Take over", () => this.desk.take(change), { class: "link", "aria-label": `Take over ${label} ${change.to_text} of answer ${number}, and solve for the rest` })
            : null,
      ),
    );
  }

  #facts(card) {
    const far = Math.max(...this.desk.cards.map((each) => each.distance), 1e-12);
    const parts = [["Distance", numberText(card.distance, 2), card.distance / far, "How far the answer is from the case, over all changes"]];
    if (card.cost !== undefined) {
      const dear = Math.max(...this.desk.cards.map((each) => each.cost), 1e-12);
      parts.push(["Cost", numberText(card.cost, 2), card.cost / dear, "The distance, weighed by how hard each change is"]);
    }
    parts.push(["Plausible", plausibleText(card.alike), card.alike, `As close to a known case as ${percent(card.alike)} of known cases are to each other`]);
    const facts = parts.map(([name, text, share, about]) => h("div", { title: about }, h("dt", {}, name), h("dd", {}, text, meter(share))));
    if (this.desk.about.has_scores) {
      const slot = h("div", { class: "scored" });
      this.slots.set(card, slot);
      facts.push(fillScore(slot, card.score));
    }
    return facts;
  }

  // Scores come after the cards, and fill the room that was kept for them.
  showScores() {
    for (const [card, slot] of this.slots) fillScore(slot, card.score);
  }

  #whyPart() {
    const { desk } = this;
    if (!desk.answer || desk.cards.length || desk.answer.shortfall?.already) return null;
    if (!desk.reasons) return button("Why nothing?", () => desk.askWhy(), { class: "strong" });
    if (desk.reasons === "asking") return h("p", { class: "note", role: "status" }, "Looking for what stands in the way…");
    if (!desk.reasons.ways.length) return h("p", { class: "note" }, "No limit stands in the way: the model hardly ever decides otherwise near this case.");
    return h(
      "div",
      { class: "ways" },
      h("h3", {}, "There would be an answer without one of these"),
      h("ul", {}, desk.reasons.ways.slice(0, SHOWN).map((way, index) => this.#way(way, index))),
      desk.reasons.ways.length > SHOWN ? h("p", { class: "note" }, `And ${desk.reasons.ways.length - SHOWN} more, with answers farther away.`) : null,
    );
  }

  #way(way, index) {
    const words = inWords(way.text, this.desk.columns);
    const text = words[0].toUpperCase() + words.slice(1);
    return h(
      "li",
      {},
      h("span", {}, text, way.then?.length ? h("small", { class: "faint" }, ` Then: ${inWords(way.then[0], this.desk.columns)}`) : null),
      button("Release", () => this.desk.release(way.release), { class: index ? "" : "strong", "aria-label": `Release: ${text}` }),
    );
  }
}

export function meter(share, needed = null) {
  const width = Math.round(100 * Math.min(1, Math.max(0, share)));
  return svg(
    "svg",
    { class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "whole", width: 100, height: 4 }),
    svg("rect", { class: "part", width, height: 4 }),
    needed === null ? null : svg("rect", { class: "needed", x: 100 * needed - 0.5, width: 1, height: 4 }),
  );
}

function plausibleText(share) {
  if (share >= 0.5) return "typical";
  if (share >= 0.1) return "plausible";
  return share > 0 ? "unusual" : "never seen alike";
}

export function scoreText(score, value) {
  return score.kind === "probability" ? percent(value) : numberText(value, 3);
}

function fillScore(slot, score) {
  if (score === null) return fill(slot);
  if (score === undefined) return fill(slot, h("dt", {}, "Score"), h("dd", {}, "…"));
  slot.title = `How safe: the score of ${score.of} is ${scoreText(score, score.value)}, and ${scoreText(score, score.needed)} is needed`;
  return fill(slot, h("dt", {}, `Score of ${score.of}`), h("dd", {}, scoreText(score, score.value), meter(safeShare(score), neededShare(score))));
}

export function safeShare(score) {
  return score.kind === "probability" ? score.value : 1 / (1 + Math.exp(-score.value));
}

export function neededShare(score) {
  return score.kind === "probability" ? score.needed : 1 / (1 + Math.exp(-score.needed));
}
