// Makes elements. Nothing is ever parsed as HTML, so no value of a table can become markup.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...kids) {
  return build(document.createElement(tag), attributes, kids);
}

export function svg(tag, attributes = {}, ...kids) {
  return build(document.createElementNS(SVG, tag), attributes, kids);
}

function build(node, attributes, kids) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") place(node, value);
    else if (name === "value") node.value = value;
    else if (name === "checked") node.checked = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...kids.flat(3).filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return node;
}

export function place(node, styles) {
  for (const [name, value] of Object.entries(styles)) node.style.setProperty(name, value);
}

export function fill(node, ...kids) {
  node.replaceChildren(...kids.flat(3).filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return node;
}

export function button(text, onclick, more = {}) {
  return h("button", { type: "button", onclick, ...more }, text);
}

let count = 0;

export function freshId(word) {
  count += 1;
  return `${word}-${count}`;
}

const ICONS = {
  lock: "M5 8V6a3 3 0 0 1 6 0v2M4 8h8v6H4z",
  unlock: "M5 8V5.5a3 3 0 0 1 5.8-1M4 8h8v6H4z",
  tune: "M2.5 5h6M12 5h1.5M2.5 11H4M7.5 11h6M10.2 3.3v3.4M5.8 9.3v3.4",
  undo: "M6 4 3 7l3 3M3 7h6a4 4 0 0 1 0 8H7",
  redo: "m10 4 3 3-3 3m3-3H7a4 4 0 0 0 0 8h2",
  pin: "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v4.5",
  no: "M4 4l8 8M12 4l-8 8",
  left: "m10 3-5 5 5 5",
  right: "m6 3 5 5-5 5",
  take: "M3 8h9M8.5 4.5 12 8l-3.5 3.5",
  share: "M8 10V2.5M5 5l3-2.5L11 5M4 8H3v6h10V8h-1",
  down: "m4 6 4 4 4-4",
};

export function icon(name) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: ICONS[name] }),
  );
}
