// A slider for one number: how known cases spread, where the decision flips, x, and the answers.

import { fill, h, place, svg } from "./dom.js";

const TALL = 26;
// Marks closer than this, in percent of the track, share a label.
const CLOSE = 4.5;

export class Track {
  constructor(column, onmove, onrest) {
    this.column = column;
    this.ends = [column.least, column.most];
    this.spread = svg("svg", { class: "spread", viewBox: `0 0 ${column.bars.length} ${TALL}`, preserveAspectRatio: "none", "aria-hidden": "true" }, this.#bars());
    this.bands = svg("svg", { class: "bands", viewBox: "0 0 1000 1", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.marks = h("div", { class: "marks", "aria-hidden": "true" });
    this.input = h("input", {
      type: "range",
      "aria-label": column.label,
      oninput: () => onmove(column.value(Number(this.input.value))),
      onchange: onrest,
    });
    this.node = h("div", { class: "track" }, h("div", { class: "under" }, this.spread, this.bands, this.marks), this.input);
  }

  #bars() {
    const most = Math.max(1, ...this.column.bars);
    return this.column.bars.map((count, index) => {
      const height = count ? Math.max(1.5, (TALL * count) / most) : 0;
      return svg("rect", { x: index + 0.08, y: TALL - height, width: 0.84, height });
    });
  }

  show(value, flips, answers, decision) {
    const { column } = this;
    const x = column.number(value);
    this.ends = [Math.min(column.least, x ?? Infinity), Math.max(column.most, x ?? -Infinity)];
    this.input.min = this.ends[0];
    this.input.max = this.ends[1];
    this.input.step = column.grain;
    if (x !== null) this.input.value = x;
    this.input.classList.toggle("gap", x === null);
    this.input.setAttribute("aria-valuetext", column.text(value));
    const inside = (this.column.most - this.column.least || 1) / (this.ends[1] - this.ends[0] || 1);
    place(this.spread, { left: `${this.#left(column.least)}%`, width: `${100 * inside}%` });
    fill(this.bands, (flips?.bands ?? []).map((band) => this.#band(band)));
    this.#describe(flips, decision);
    const marks = answers.filter(([, each]) => each !== null).map(([number, each]) => [this.#left(column.number(each)), number]);
    fill(this.marks, marks.map(([left]) => h("i", { style: { left: `${left}%` } })), together(marks).map(([left, numbers]) => h("span", { class: "mark", style: { left: `${left}%` } }, numbers.join(" "))));
  }

  #left(number) {
    const [low, high] = this.ends;
    return high > low ? (100 * (number - low)) / (high - low) : 50;
  }

  #band(band) {
    const from = 10 * this.#left(this.column.number(band.from));
    const to = 10 * this.#left(this.column.number(band.to));
    const title = `${this.column.text(band.first)} to ${this.column.text(band.last)}: ${band.decision}`;
    return svg("rect", { class: band.wanted ? "wanted" : "same", x: from, y: 0, width: Math.max(2, to - from), height: 1 }, svg("title", {}, title));
  }

  #describe(flips, decision) {
    const wanted = (flips?.bands ?? []).filter((band) => band.wanted);
    const text = wanted.map((band) => `${this.column.text(band.first)} to ${this.column.text(band.last)}`).join(", ");
    const said = flips ? (text ? `Another decision at ${text}` : `No value alone changes the decision${decision ? ` ${decision}` : ""}`) : "";
    if (said) this.input.setAttribute("aria-description", said);
    this.node.title = said;
  }
}

// Marks that would cover each other share one label, in their middle.
function together(marks) {
  const groups = [];
  for (const [left, number] of [...marks].sort((one, other) => one[0] - other[0])) {
    const last = groups.at(-1);
    if (last && left - last.at(-1)[0] < CLOSE) last.push([left, number]);
    else groups.push([[left, number]]);
  }
  return groups.map((group) => [group.reduce((sum, [left]) => sum + left, 0) / group.length, group.map(([, number]) => number)]);
}
