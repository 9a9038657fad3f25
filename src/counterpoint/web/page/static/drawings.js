// Draws images, series and differences from cells: shares of the known range, row by row.

import { h, svg } from "./dom.js";

const WIDE = 300;
const HIGH = 90;

export function drawImage(cells, shape, kind) {
  const [rows, columns, channels = 1] = shape;
  return pixels(rows, columns, kind, (place) => {
    const at = (channel) => Math.round(255 * clip(cells[place * channels + Math.min(channel, channels - 1)]));
    return [at(0), at(1), at(2)];
  });
}

// More than x in blue, less in orange, equal in the grey between: colours that all can tell apart.
export function drawDifference(x, cells, shape) {
  const [rows, columns, channels = 1] = shape;
  const most = Math.max(...cells.map((cell, place) => Math.abs(cell - x[place])), 1e-9);
  return pixels(rows, columns, "large", (place) => {
    let by = 0;
    for (let channel = 0; channel < channels; channel += 1) by += cells[place * channels + channel] - x[place * channels + channel];
    const share = clip(Math.abs(by) / channels / most);
    const towards = by > 0 ? [0, 90, 200] : [213, 94, 0];
    return [232, 235, 238].map((from, index) => Math.round(from + share * (towards[index] - from)));
  });
}

function pixels(rows, columns, kind, colour) {
  const canvas = h("canvas", { class: `image ${kind}`, width: columns, height: rows, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let place = 0; place < rows * columns; place += 1) {
    const [red, green, blue] = colour(place);
    image.data.set([red, green, blue, 255], 4 * place);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Several series over each other; the channels of each are drawn one below the other.
export function drawSeries(series, shape, kind) {
  const length = shape.at(-1);
  const channels = shape.length > 1 ? Math.min(6, shape[0]) : 1;
  const height = HIGH * channels;
  const lines = series.flatMap(([name, cells]) => Array.from({ length: channels }, (_, channel) => svg("path", { class: `series ${name}`, d: line(cells.slice(channel * length, (channel + 1) * length), channel * HIGH), "vector-effect": "non-scaling-stroke" })));
  return svg("svg", { class: `plot ${kind}`, viewBox: `0 0 ${WIDE} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, lines);
}

function line(cells, top) {
  const step = WIDE / Math.max(1, cells.length - 1);
  return cells.map((cell, place) => `${place ? "L" : "M"}${(place * step).toFixed(2)} ${(top + 4 + (HIGH - 8) * (1 - clip(cell))).toFixed(2)}`).join("");
}

function clip(share) {
  return Math.min(1, Math.max(0, share));
}
