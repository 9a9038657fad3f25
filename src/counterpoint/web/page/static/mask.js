// The mask: what may not change is drawn on x, by pointer or by keyboard.

import { button, fill, h, place } from "./dom.js";
import { drawImage, drawSeries } from "./drawings.js";

export class Mask {
  constructor(about, onchange) {
    this.about = about;
    this.onchange = onchange;
    this.isImage = about.kind === "image";
    [this.rows, this.columns] = this.isImage ? about.shape : [1, about.shape.at(-1)];
    // A stroke of the brush, and a step of the cursor, are about a tenth of a side.
    this.brush = Math.max(1, Math.round(this.columns / (this.isImage ? 14 : 24)));
    this.cells = new Uint8Array(this.rows * this.columns);
    this.cursor = [0, 0];
    this.under = h("div", { class: "under-mask" });
    this.layer = h("canvas", { class: "mask", width: this.columns, height: this.rows });
    this.spot = h("div", { class: "cursor", "aria-hidden": "true" });
    this.board = h(
      "div",
      {
        class: `board ${about.kind}`,
        tabindex: "0",
        role: "application",
        "aria-label": "What may not change. Draw with the pointer; or move with the arrow keys, and press space to keep a part or to let it change.",
        onpointerdown: (event) => this.#begin(event),
        onpointermove: (event) => this.#stroke(event),
        onpointerup: () => this.#end(),
        onpointercancel: () => this.#end(),
        onkeydown: (event) => this.#key(event),
      },
      this.under,
      this.layer,
      this.spot,
    );
    this.can = true;
    this.said = h("p", { class: "faint", role: "status" });
    this.node = h(
      "div",
      {},
      this.board,
      h("div", { class: "line" }, button("Let all change", () => this.#set(() => 0)), button("Swap", () => this.#set((cell) => 1 - cell), { title: "Keep what may change, and let the rest change" })),
      this.said,
    );
  }

  // With patterns that touch every cell, nothing can be kept.
  show(x, runs, can) {
    const { about } = this;
    this.can = can;
    this.board.setAttribute("aria-disabled", String(!can));
    fill(this.under, this.isImage ? drawImage(x, about.shape, "large") : drawSeries([["own", x]], about.shape, "large"));
    if (!this.drawing) {
      this.cells.fill(0);
      for (const [first, last] of runs) this.cells.fill(1, first, last);
    }
    this.#draw();
  }

  #draw() {
    const context = this.layer.getContext("2d");
    const image = context.createImageData(this.columns, this.rows);
    this.cells.forEach((kept, index) => image.data.set(kept ? [230, 120, 20, 150] : [0, 0, 0, 0], 4 * index));
    context.putImageData(image, 0, 0);
    const kept = this.cells.reduce((sum, cell) => sum + cell, 0);
    this.said.textContent = !this.can ? "These changes touch every cell, so no part can be kept." : kept ? `${Math.round((100 * kept) / this.cells.length)}% may not change.` : "Draw on it what may not change.";
    const [row, column] = this.cursor;
    place(this.spot, {
      left: `${(100 * column) / this.columns}%`,
      top: `${(100 * row) / this.rows}%`,
      width: `${(100 * Math.min(this.brush, this.columns)) / this.columns}%`,
      height: `${(100 * Math.min(this.brush, this.rows)) / this.rows}%`,
    });
  }

  #at(event) {
    const box = this.board.getBoundingClientRect();
    const row = this.isImage ? Math.floor(((event.clientY - box.top) * this.rows) / box.height) : 0;
    return [row, Math.floor(((event.clientX - box.left) * this.columns) / box.width)];
  }

  #begin(event) {
    event.preventDefault();
    if (!this.can) return;
    this.board.focus();
    this.board.setPointerCapture(event.pointerId);
    const [row, column] = this.#at(event);
    this.drawing = { value: this.cells[row * this.columns + column] ? 0 : 1 };
    this.#stroke(event);
  }

  #stroke(event) {
    if (!this.drawing) return;
    const [row, column] = this.#at(event);
    const half = Math.floor(this.brush / 2);
    // A fast pointer jumps: what lies between is part of the stroke.
    const [fromRow, fromColumn] = this.drawing.last ?? [row, column];
    const steps = Math.max(Math.abs(row - fromRow), Math.abs(column - fromColumn), 1);
    for (let step = 1; step <= steps; step += 1) {
      const at = (from, to) => Math.round(from + ((to - from) * step) / steps);
      this.#paint(at(fromRow, row) - half, at(fromColumn, column) - half, this.drawing.value);
    }
    this.drawing.last = [row, column];
  }

  #paint(top, left, value) {
    for (let row = Math.max(0, top); row < Math.min(this.rows, top + this.brush); row += 1) {
      for (let column = Math.max(0, left); column < Math.min(this.columns, left + this.brush); column += 1) this.cells[row * this.columns + column] = value;
    }
    this.#draw();
  }

  #end() {
    if (!this.drawing) return;
    this.drawing = null;
    this.onchange(this.#runs());
  }

  #key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (move) {
      event.preventDefault();
      this.cursor = [0, 1].map((axis) => Math.min([this.rows, this.columns][axis] - 1, Math.max(0, this.cursor[axis] + move[axis] * this.brush)));
      this.#draw();
    } else if (event.key === " " && this.can) {
      event.preventDefault();
      const [row, column] = this.cursor;
      this.#paint(row, column, this.cells[row * this.columns + column] ? 0 : 1);
      this.onchange(this.#runs());
    }
  }

  #set(value) {
    this.cells = this.cells.map(value);
    this.#draw();
    this.onchange(this.#runs());
  }

  // The mask in short: runs of places, from the first to before the last.
  #runs() {
    const runs = [];
    let first = -1;
    for (let index = 0; index <= this.cells.length; index += 1) {
      const kept = index < this.cells.length && this.cells[index];
      if (kept && first < 0) first = index;
      if (!kept && first >= 0) {
        runs.push([first, index]);
        first = -1;
      }
    }
    return runs;
  }
}
