// The state of the page: what is asked, as plain data. It lives in the address, so undo is the browser's own.

export const EMPTY = {
  view: "case",
  row: null,
  edits: {},
  limits: {},
  setting: null,
  target: null,
  most: null,
  no: [],
  pins: [],
  list: {},
  groups: [],
  codec: null,
  mask: [],
};

// Only what differs from the empty state is written.
export function written(state) {
  const parts = Object.entries(state).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY[name]));
  return parts.length ? encodeURIComponent(JSON.stringify(Object.fromEntries(parts))) : "";
}

export function readState(text) {
  try {
    const found = JSON.parse(decodeURIComponent(text));
    const known = Object.entries(found).filter(([name]) => name in EMPTY);
    return { ...structuredClone(EMPTY), ...Object.fromEntries(known) };
  } catch {
    return structuredClone(EMPTY);
  }
}

// Keeps states in the address and in the history of the browser.
export class AddressMemory {
  constructor(onmove) {
    this.index = window.history.state?.index ?? 0;
    this.last = this.index;
    window.addEventListener("popstate", (event) => {
      this.index = event.state?.index ?? 0;
      onmove(this.read());
    });
  }

  read() {
    return readState(window.location.hash.slice(1));
  }

  push(state) {
    this.index += 1;
    this.last = this.index;
    window.history.pushState({ index: this.index }, "", this.#address(state));
  }

  replace(state) {
    window.history.replaceState({ index: this.index }, "", this.#address(state));
  }

  back() {
    window.history.back();
  }

  forward() {
    window.history.forward();
  }

  #address(state) {
    const text = written(state);
    return window.location.pathname + window.location.search + (text ? `#${text}` : "");
  }
}

// Keeps states in a list, for a page inside another one.
export class ListMemory {
  constructor(onmove) {
    this.states = [];
    this.index = 0;
    this.onmove = onmove;
  }

  get last() {
    return Math.max(0, this.states.length - 1);
  }

  read() {
    return structuredClone(this.states[this.index] ?? EMPTY);
  }

  push(state) {
    this.states.length = this.index + 1;
    this.states.push(structuredClone(state));
    this.index = this.states.length - 1;
  }

  replace(state) {
    this.states[this.index] = structuredClone(state);
  }

  back() {
    this.#move(-1);
  }

  forward() {
    this.#move(1);
  }

  #move(by) {
    const index = this.index + by;
    if (index < 0 || index >= this.states.length) return;
    this.index = index;
    this.onmove(this.read());
  }
}

export class Store {
  constructor(makeMemory) {
    this.listeners = [];
    this.memory = makeMemory((state) => this.#moved(state));
    this.state = this.memory.read();
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  // Changes parts of the state; a change that goes on, such as dragging, replaces the last one.
  change(parts, { goesOn = false } = {}) {
    const state = { ...structuredClone(this.state), ...parts };
    if (JSON.stringify(state) === JSON.stringify(this.state)) return;
    const replaces = goesOn && this.dragging;
    this.dragging = goesOn;
    if (replaces) this.memory.replace(state);
    else this.memory.push(state);
    this.#set(state);
  }

  // Sets what the page chooses itself, which undo leaves alone.
  settle(parts) {
    const state = { ...structuredClone(this.state), ...parts };
    this.memory.replace(state);
    this.#set(state);
  }

  rest() {
    this.dragging = false;
  }

  get canUndo() {
    return this.memory.index > 0;
  }

  get canRedo() {
    return this.memory.index < this.memory.last;
  }

  undo() {
    if (this.canUndo) this.memory.back();
  }

  redo() {
    if (this.canRedo) this.memory.forward();
  }

  // What was typed or dragged before is over: the next change is one of its own.
  #moved(state) {
    this.rest();
    this.#set(state);
  }

  #set(state) {
    const before = this.state;
    this.state = state;
    for (const listener of this.listeners) listener(state, before);
  }
}
