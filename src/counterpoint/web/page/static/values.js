// Columns and their values: from what the server sends to numbers on a track and texts for people.

const DAY = 86400000;

export function labelOf(name) {
  const spaced = String(name).replaceAll("_", " ").trim();
  return spaced ? spaced[0].toUpperCase() + spaced.slice(1) : String(name);
}

export function inWords(sentence, columns) {
  return columns.reduce(
    (text, column) => (column.name.includes("_") ? text.replaceAll(column.name, column.name.replaceAll("_", " ")) : text),
    sentence,
  );
}

export function numberText(value, digits = 6) {
  if (value === null || value === undefined) return "missing";
  const rounded = Number(Number(value).toPrecision(digits));
  const large = Math.abs(rounded) >= 10000;
  return rounded.toLocaleString("en", { useGrouping: large, maximumFractionDigits: 10 });
}

export function percent(share) {
  return share > 0 && share < 0.005 ? "under 1%" : `${Math.round(share * 100)}%`;
}

export class Column {
  constructor(facts) {
    Object.assign(this, facts);
    this.label = labelOf(facts.name);
    this.isTrack = facts.kind !== "category";
    if (this.isTrack) {
      this.least = this.number(facts.low);
      this.most = this.number(facts.high);
      this.grain = this.#grain();
    }
  }

  // A whole 1-2-5 step for numbers that have none, about 200 over the track.
  #grain() {
    if (this.kind === "date") return 1;
    if (this.step) return this.step;
    const rough = (this.most - this.least || 1) / 200;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [5, 2, 1].map((times) => times * power).find((step) => step <= rough) ?? power;
  }

  number(value) {
    if (value === null || value === undefined) return null;
    return this.kind === "date" ? Math.round(Date.parse(`${String(value).slice(0, 10)}T00:00:00Z`) / DAY) : Number(value);
  }

  value(number) {
    if (this.kind === "date") return new Date(number * DAY).toISOString().slice(0, 10);
    const digits = Math.max(0, -Math.floor(Math.log10(this.grain)) + 1);
    return Number(number.toFixed(Math.min(20, digits)));
  }

  text(value) {
    if (value === null || value === undefined) return "missing";
    if (this.kind === "number") return numberText(value);
    if (this.kind === "date") return String(value).slice(0, 10);
    return this.categories.find((each) => each.value === value)?.text ?? String(value);
  }

  // What a person typed; undefined if it cannot be a value of this column.
  parse(text) {
    const typed = text.trim();
    if (typed === "") return this.missing ? null : undefined;
    if (this.kind === "date") return Number.isNaN(Date.parse(typed)) ? undefined : typed;
    const number = Number(typed.replaceAll(",", ""));
    return Number.isFinite(number) ? number : undefined;
  }

  // Where a value lies between the ends of its track, from 0 to 1.
  share(value, ends) {
    const [low, high] = ends ?? [this.least, this.most];
    return high > low ? Math.min(1, Math.max(0, (this.number(value) - low) / (high - low))) : 0.5;
  }
}
