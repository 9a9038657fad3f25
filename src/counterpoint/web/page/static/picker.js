// All cases: search, sort, filter by decision, and pick one.

import { scoreText } from "./cards.js";
import { button, fill, h, icon } from "./dom.js";

const SCREEN = 50;

export class Picker {
  constructor(desk) {
    this.desk = desk;
    this.search = h("input", { type: "search", class: "search", placeholder: "Search all values", "aria-label": "Search cases", autocomplete: "off", oninput: () => this.#ask({ search: this.search.value, offset: 0 }, true), onchange: () => desk.store.rest() });
    this.decided = h("fieldset", { class: "switch" });
    this.count = h("p", { class: "faint", role: "status" });
    this.table = h("table", { class: "cases" });
    this.more = h("div", { class: "pager" });
    this.node = h(
      "section",
      { class: "panel", "aria-label": "All cases" },
      h("div", { class: "bar" }, this.search, this.decided, this.count, button("Type a new case", () => desk.pick("new"), { class: "push" })),
      h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of cases" }, this.table),
      this.more,
    );
  }

  #ask(parts, goesOn = false) {
    this.desk.store.change({ list: clean({ ...this.desk.state.list, ...parts }) }, { goesOn });
  }

  async show() {
    const { list } = this.desk.state;
    if (document.activeElement !== this.search) this.search.value = list.search ?? "";
    this.#filters(list);
    const asked = JSON.stringify(list);
    if (asked === this.asked) return;
    this.asked = asked;
    const found = await this.desk.ask("rows", { ...list, limit: SCREEN });
    if (found) this.#draw(found, list);
  }

  #filters(list) {
    const options = [[null, "All"], ...this.desk.about.decisions.map((each) => [each.text, `${each.text} (${each.count})`])];
    fill(
      this.decided,
      h("legend", { class: "unseen" }, "Decision"),
      options.map(([value, text]) => h("label", {}, h("input", { type: "radio", name: "decided", checked: (list.decision ?? null) === value, onchange: () => this.#ask({ decision: value, offset: 0 }) }), h("span", {}, text))),
    );
    this.decided.hidden = options.length < 3;
  }

  #draw(found, list) {
    const { columns, about } = this.desk;
    const start = list.offset ?? 0;
    const end = Math.min(start + SCREEN, found.total);
    const skipped = about.skipped ? `; ${about.skipped} more could not be read` : "";
    this.count.textContent = (found.total === found.all ? `${found.total} cases` : `${found.total} of ${found.all} cases`) + skipped;
    const heads = [["decision", "Decision"], ...(about.has_scores ? [["score", about.score_kind === "probability" ? "Sure" : "Score"]] : []), ...columns.map((column) => [column.name, column.label])];
    fill(
      this.table,
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Case"), heads.map(([name, text]) => this.#head(name, text, list)))),
      h("tbody", {}, found.rows.map((row) => this.#row(row))),
    );
    fill(
      this.more,
      button([icon("left"), "Earlier"], () => this.#ask({ offset: Math.max(0, start - SCREEN) }), { disabled: start === 0 }),
      h("span", { class: "faint" }, found.total ? `${start + 1} to ${end} of ${found.total}` : "No case fits."),
      button(["Later", icon("right")], () => this.#ask({ offset: start + SCREEN }), { disabled: end >= found.total }),
    );
  }

  #head(name, text, list) {
    const own = list.sort === name;
    const next = own ? (list.descending ? { sort: undefined, descending: undefined } : { sort: name, descending: true }) : { sort: name, descending: undefined };
    return h("th", { scope: "col", "aria-sort": own ? (list.descending ? "descending" : "ascending") : null }, button([text, own ? h("span", { "aria-hidden": "true" }, list.descending ? " ↓" : " ↑") : null], () => this.#ask({ ...next, offset: 0 }), { class: "sort" }));
  }

  #row(row) {
    const { about } = this.desk;
    const isOwn = row.index === this.desk.state.row;
    const pick = () => this.desk.pick(row.index);
    return h(
      "tr",
      { class: isOwn ? "own" : "", onclick: pick },
      h("th", { scope: "row" }, button(String(row.index + 1), pick, { class: "link", "aria-label": `Open case ${row.index + 1}` })),
      h("td", {}, h("span", { class: "decided" }, row.decision)),
      about.has_scores ? h("td", { class: "figure" }, row.score === null ? "" : scoreText({ kind: about.score_kind }, row.score)) : null,
      row.cells.map((cell, place) => h("td", { class: this.desk.columns[place].kind === "number" ? "figure" : "" }, cell)),
    );
  }
}

function clean(parts) {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== 0));
}
