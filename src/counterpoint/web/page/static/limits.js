// What may change: the browser's short form per column, as it was set up and as a person changed it.

export const COSTS = { easy: 0.3, normal: 1, hard: 3, never: "never" };

// Everything said about a column: what a person said, over what was set up.
export function limitsOf(column, state) {
  const fixed = column.fixed;
  return {
    lock: fixed.lock,
    range: fixed.range,
    way: fixed.way,
    cost: fixed.cost === null ? "normal" : "fixed",
    reach: fixed.max_change,
    ...(state.limits[column.name] ?? {}),
  };
}

// The limits of the state with one column changed; what is as it was set up is left out.
export function withLimits(column, state, parts) {
  const whole = { ...limitsOf(column, state), ...parts };
  const base = limitsOf(column, { limits: {} });
  const own = Object.entries(whole).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(base[name]));
  const limits = { ...state.limits };
  if (own.length) limits[column.name] = Object.fromEntries(own);
  else delete limits[column.name];
  return limits;
}

// The constraints as `explain` takes them.
export function constraintsOf(columns, state, about) {
  const found = { immutable: [], ranges: {}, increase: [], decrease: [], costs: {} };
  if (columns.some((column) => column.fixed.max_change !== null)) found.max_change = {};
  for (const column of columns.filter((each) => !each.follows)) {
    const { lock, range, way, cost, reach } = limitsOf(column, state);
    if (reach !== null) found.max_change[column.name] = reach;
    if (lock) found.immutable.push(column.name);
    if (range) found.ranges[column.name] = range;
    if (way && !lock) (way === "up" ? found.increase : found.decrease).push(column.name);
    if (cost === "fixed") found.costs[column.name] = column.fixed.cost;
    else if (cost !== "normal") found.costs[column.name] = COSTS[cost];
  }
  const most = state.most ?? about.most;
  if (most) found.max_changes = most;
  return found;
}

// The reverse: the state's limits for constraints as `explain` takes them.
export function limitsFrom(columns, constraints) {
  let limits = {};
  for (const column of columns) {
    const cost = constraints.costs?.[column.name];
    const level = Object.keys(COSTS).find((name) => COSTS[name] === cost) ?? (cost === undefined ? "normal" : "fixed");
    limits = withLimits(column, { limits }, {
      lock: (constraints.immutable ?? []).includes(column.name),
      range: constraints.ranges?.[column.name] ?? null,
      way: (constraints.increase ?? []).includes(column.name) ? "up" : (constraints.decrease ?? []).includes(column.name) ? "down" : null,
      cost: level,
      reach: constraints.max_change?.[column.name] ?? null,
    });
  }
  return limits;
}

// What was set for a column, in a few words; empty if nothing was.
export function limitsText(column, state) {
  const { lock, range, way, cost, reach } = limitsOf(column, state);
  if (lock) return "stays";
  const parts = [];
  if (range && column.isTrack) {
    const [low, high] = range;
    if (low !== null && high !== null) parts.push(`${column.text(low)} to ${column.text(high)}`);
    else parts.push(low !== null ? `at least ${column.text(low)}` : `at most ${column.text(high)}`);
  } else if (range) {
    parts.push(`one of ${range.length}`);
  }
  if (reach !== null) parts.push(`by at most ${reach}`);
  if (way) parts.push(way === "up" ? "may only rise" : "may only fall");
  if (cost !== "normal") parts.push({ easy: "easy to change", hard: "hard to change", never: "never changes", fixed: "costs as set up" }[cost]);
  return parts.join(", ");
}
