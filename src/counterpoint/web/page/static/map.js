// Where the case and its answers lie among known cases. Points tell their values when pointed at.

import { fill, h, svg } from "./dom.js";
import { labelOf } from "./values.js";

const WIDTH = 720;
const HEIGHT = 360;
const EDGE = 20;
const APART = 19;

export class Map2d {
  constructor(desk) {
    this.desk = desk;
    this.drawing = svg("svg", { class: "map", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    this.tip = h("div", { class: "tip", "aria-live": "off" });
    this.legend = h("p", { class: "legend faint" });
    this.drawing.addEventListener("pointermove", (event) => this.#point(event));
    this.drawing.addEventListener("pointerleave", () => this.#leave());
    this.node = h("section", { class: "panel", "aria-label": "Map" }, h("h2", {}, "Among known cases"), h("div", { class: "around" }, this.drawing, this.tip), this.legend);
  }

  show() {
    const { map } = this.desk;
    this.node.hidden = !map;
    if (!map || this.drawn === map) return;
    this.drawn = map;
    this.tip.hidden = true;
    const scale = scaleOf([...map.known, map.x, ...map.answers], map.known.length);
    this.points = map.known.map(scale);
    const x = scale(map.x);
    const answers = map.answers.map(scale);
    const [own, ...spots] = apart([x, ...answers]);
    this.spots = [own, ...spots];
    this.drawing.setAttribute("aria-label", `Map of the case and ${answers.length} answers among ${map.known.length} known cases`);
    fill(
      this.drawing,
      this.points.map(([left, top], index) => (map.wanted[index] ? svg("rect", { class: "known wanted", x: left - 2.2, y: top - 2.2, width: 4.4, height: 4.4 }) : svg("circle", { class: "known", cx: left, cy: top, r: 2.2 }))),
      answers.map(([left, top]) => svg("line", { class: "way", x1: x[0], y1: x[1], x2: left, y2: top })),
      spots.map((spot, index) => spotAt(spot, String(index + 1), "answer")),
      spotAt(own, "x", "own"),
      (this.ring = svg("circle", { class: "ring", r: 6, cx: -20, cy: -20 })),
    );
    fill(
      this.legend,
      `Left to right: from the case's decision towards another one. Squares are known cases with a wanted decision. `,
      map.count > map.known.length ? `${map.known.length} of ${map.count} known cases are drawn. ` : "",
      `The map shows ${Math.round(100 * map.shown)}% of how cases differ.`,
    );
  }

  #point(event) {
    const box = this.drawing.getBoundingClientRect();
    const at = [((event.clientX - box.left) * WIDTH) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height];
    const spot = nearestTo(at, this.spots, 11);
    const index = spot < 0 ? nearestTo(at, this.points, 12) : -1;
    if (spot < 0 && index < 0) return this.#leave();
    const place = spot >= 0 ? this.spots[spot] : this.points[index];
    this.ring.setAttribute("cx", place[0]);
    this.ring.setAttribute("cy", place[1]);
    fill(this.tip, spot > 0 ? this.#answer(spot - 1) : spot === 0 ? h("b", {}, `The case: ${this.desk.decision?.decision_text ?? ""}`) : this.#known(index));
    this.tip.hidden = false;
    this.tip.style.setProperty("left", `${Math.min(70, (100 * place[0]) / WIDTH)}%`);
    this.tip.style.setProperty("top", `${(100 * place[1]) / HEIGHT}%`);
    return undefined;
  }

  #leave() {
    this.tip.hidden = true;
    this.ring?.setAttribute("cx", -20);
  }

  #answer(index) {
    const card = this.desk.cards[index];
    if (!card) return h("b", {}, `Answer ${index + 1}`);
    return [h("b", {}, `Answer ${index + 1}: ${card.decision_text}`), card.changes.map((change) => h("div", {}, `${labelOf(change.feature)}: ${change.to_text}`))];
  }

  #known(index) {
    const { cases } = this.desk.map;
    const decided = cases.decisions.texts[cases.decisions.which[index]];
    const told = cases.columns
      .map((column) => [column.name, column.texts[column.which[index]]])
      .filter(([name, text]) => text !== this.desk.columns.find((each) => each.name === name)?.text(this.desk.values[name]))
      .slice(0, 6);
    return [h("b", {}, `A known case: ${decided}`), told.map(([name, text]) => h("div", {}, `${labelOf(name)}: ${text}`))];
  }
}

function spotAt([left, top], text, kind) {
  return svg("g", { class: `spot ${kind}` }, svg("circle", { cx: left, cy: top, r: 9 }), svg("text", { x: left, y: top + 3.6 }, text));
}

// Fits nearly all known points: the outermost 2% may lie outside.
function scaleOf(points, known) {
  const ends = [0, 1].map((axis) => {
    const sorted = points.slice(0, known).map((point) => point[axis]).sort((a, b) => a - b);
    const others = points.slice(known).map((point) => point[axis]);
    const cut = (share) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(share * (sorted.length - 1))))] ?? 0;
    return [Math.min(cut(0.02), ...others), Math.max(cut(0.98), ...others)];
  });
  const room = [WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE];
  return (point) => {
    const [across, up] = [0, 1].map((axis) => {
      const [low, high] = ends[axis];
      return high > low ? (point[axis] - low) / (high - low) : 0.5;
    });
    return [EDGE + across * room[0], EDGE + (1 - up) * room[1]];
  };
}

// Moves marks apart that would cover each other.
function apart(points) {
  const moved = points.map(([left, top], index) => [left + 0.01 * Math.cos(2.4 * index), top + 0.01 * Math.sin(2.4 * index)]);
  for (let round = 0; round < 60; round += 1) {
    let still = true;
    for (let one = 0; one < moved.length; one += 1) {
      for (let other = one + 1; other < moved.length; other += 1) {
        const [dx, dy] = [moved[other][0] - moved[one][0], moved[other][1] - moved[one][1]];
        const far = Math.hypot(dx, dy) || 0.01;
        if (far >= APART) continue;
        still = false;
        const push = (APART - far) / 2 / far;
        moved[one] = inside(moved[one][0] - dx * push, moved[one][1] - dy * push);
        moved[other] = inside(moved[other][0] + dx * push, moved[other][1] + dy * push);
      }
    }
    if (still) break;
  }
  return moved;
}

function inside(left, top) {
  return [Math.min(WIDTH - 10, Math.max(10, left)), Math.min(HEIGHT - 10, Math.max(10, top))];
}

function nearestTo([left, top], points, within) {
  let best = -1;
  let away = within;
  points.forEach(([x, y], index) => {
    const far = Math.hypot(x - left, y - top);
    if (far < away) [best, away] = [index, far];
  });
  return best;
}
