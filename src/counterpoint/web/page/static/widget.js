// The page inside a notebook: one case, and its state in two directions.

import { Failure } from "./api.js";
import { Desk } from "./desk.js";
import { fill, h } from "./dom.js";
import { constraintsOf, limitsFrom } from "./limits.js";
import { ListMemory, Store } from "./state.js";

// Asks the kernel by messages. It answers one after the other, so a newer question of a kind waits for the
// older, and replaces one that waits.
class Kernel {
  constructor(model) {
    this.model = model;
    this.count = 0;
    this.open = new Map();
    this.waiting = new Map();
    this.busy = new Set();
    model.on("msg:custom", (reply) => this.#receive(reply));
  }

  ask(name, body, signal) {
    return new Promise((resolve, reject) => {
      const question = { name, body, resolve, reject };
      signal?.addEventListener("abort", () => reject(new DOMException("A newer question took its place.", "AbortError")));
      if (this.busy.has(name)) this.waiting.set(name, question);
      else this.#send(question);
    });
  }

  #send(question) {
    this.count += 1;
    this.busy.add(question.name);
    this.open.set(this.count, question);
    this.model.send({ id: this.count, name: question.name, body: question.body });
  }

  #receive(reply) {
    const question = this.open.get(reply.id);
    if (!question) return;
    this.open.delete(reply.id);
    this.busy.delete(question.name);
    const next = this.waiting.get(question.name);
    this.waiting.delete(question.name);
    if (next) this.#send(next);
    if (reply.error === undefined) question.resolve(reply.answer);
    else question.reject(new Failure(reply.error, reply.status));
  }
}

function render({ model, el }) {
  const about = model.get("about");
  const store = new Store((onmove) => new ListMemory(onmove));
  const desk = new Desk(new Kernel(model), about, store);
  const root = h("div", { class: "counterpoint" }, desk.node);
  fill(el, root);
  desk.node.classList.add("inside");
  store.memory.replace(store.state);

  let telling = false;
  desk.shows.push(() => {
    const { chosen, constraints } = told(desk);
    telling = true;
    if (differs(model.get("constraints"), constraints)) model.set("constraints", constraints);
    if (differs(model.get("chosen"), chosen)) model.set("chosen", chosen);
    model.save_changes();
    telling = false;
  });
  model.on("change:constraints", () => {
    const given = model.get("constraints");
    if (telling || !differs(given, told(desk).constraints)) return;
    store.change({ limits: limitsFrom(desk.columns, given), most: given.max_changes ?? 0 });
  });
  model.on("change:chosen", () => {
    const given = model.get("chosen");
    if (telling || !desk.values || !differs(given, told(desk).chosen)) return;
    store.change({ pins: given.map((row) => ({ changes: changesTo(row, desk.values), decision: "" })) });
  });
  const given = model.get("constraints");
  if (Object.keys(given).length) store.settle({ limits: limitsFrom(desk.columns, given), most: given.max_changes ?? 0 });
  desk.start();
}

function told(desk) {
  return {
    constraints: constraintsOf(desk.columns, desk.state, desk.about),
    chosen: desk.values ? desk.state.pins.map((pin) => ({ ...desk.values, ...pin.changes })) : [],
  };
}

function changesTo(row, values) {
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(values[name])));
}

function differs(one, other) {
  return JSON.stringify(one) !== JSON.stringify(other);
}

export default { render };
