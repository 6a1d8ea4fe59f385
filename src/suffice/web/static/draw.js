// From answers to the page. Everything that came from a text goes in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function badge({ tone, sign, text }) {
  const made = element("span", "", { class: `badge ${tone}` });
  made.append(element("span", sign, { "aria-hidden": "true" }), ` ${text}`);
  $("badge").replaceChildren(made);
}

// --- the words: built once per text, then only repainted, so that focus stays where it is ---

let built = "";

export function words(pieces, onPick) {
  const key = JSON.stringify(pieces.map((piece) => [piece.text, piece.role]));
  if (key === built) return;
  built = key;
  const made = pieces.map((piece) => {
    if (piece.position === null) return element(piece.role === "cut" ? "s" : "span", piece.text);
    const word = element("button", piece.text, { type: "button", tabindex: "-1", "data-position": piece.position });
    word.classList.toggle("unknown", piece.unknown);
    word.addEventListener("click", () => onPick(piece.position));
    return word;
  });
  $("words").replaceChildren(...made);
  wordButtons()[0]?.setAttribute("tabindex", "0");
}

export const forgetWords = () => { built = ""; $("words").replaceChildren(); };
export const wordButtons = () => [...$("words").querySelectorAll("button")];
export const wordAt = (position) => $("words").querySelector(`[data-position="${Number(position)}"]`);

export function paint({ needed = [], sure = [], some = [], changes = new Map(), marks = {}, current = null, running = false }) {
  $("words").classList.toggle("running", running);
  for (const inserted of $("words").querySelectorAll("ins")) inserted.remove();
  for (const word of wordButtons()) {
    const position = Number(word.dataset.position);
    const is = {
      needed: needed.includes(position),
      sure: sure.includes(position),
      some: some.includes(position),
      changed: changes.has(position),
      in: !!marks.include?.includes(position),
      out: !!marks.exclude?.includes(position),
      guarded: !!marks.protect?.includes(position),
    };
    for (const [name, on] of Object.entries(is)) word.classList.toggle(name, on);
    word.classList.toggle("struck", is.changed);
    word.setAttribute("aria-current", String(position === current));
    word.setAttribute("aria-label", [word.textContent, ...said(is)].join(", "));
    if (changes.get(position)) word.after(element("ins", changes.get(position)));
  }
}

function said(is) {
  const names = { needed: "in the set", sure: "in every equally cheap set", some: "in some equally cheap sets", changed: "changed", in: "kept in", out: "left out", guarded: "protected" };
  return Object.keys(names).filter((name) => is[name]).map((name) => names[name]);
}

// --- one word ---

export function inspector(word, about, choices) {
  const lines = [];
  if (!word) {
    lines.push(element("p", "Choose a word to see what is known about it, to keep it in, leave it out, or protect it.", { class: "soft" }));
    lines.push(element("p", "With the keyboard: Tab to the words, arrows to move, then I, X or P.", { class: "soft small" }));
  } else {
    const head = element("p");
    head.append(element("strong", word), ` is ${about?.standing ?? "a word of the text"}`);
    lines.push(head);
    for (const line of [about?.options, about?.reason]) if (line) lines.push(element("p", line[0].toUpperCase() + line.slice(1)));
    const row = element("div", "", { class: "choices" });
    for (const { name, key, pressed, act } of choices) {
      const button = element("button", name, { type: "button", "aria-pressed": String(pressed), "data-key": key });
      button.append(element("kbd", key.toUpperCase(), { "aria-hidden": "true" }));
      button.addEventListener("click", act);
      row.append(button);
    }
    lines.push(row);
  }
  $("inspector").replaceChildren(...lines);
}

// --- the bounds ---

const SVG = "http://www.w3.org/2000/svg";

export function bounds(records, elapsed) {
  const last = records.at(-1);
  $("lower").textContent = last ? format(last.lower) : "0";
  $("upper").textContent = last ? format(last.upper) : "…";
  $("clock").textContent = `${elapsed.toFixed(elapsed < 10 ? 2 : 1)} s`;
  $("chart").replaceChildren(...(last ? curves(records, elapsed) : []));
  $("axis-top").textContent = last ? format(highest(records)) : "";
  $("axis-end").textContent = $("clock").textContent;
}

const highest = (records) => Math.max(...records.map((record) => record.upper), 1);

const format = (number) => String(Math.round(number * 1000) / 1000);

function curves(records, elapsed) {
  const end = Math.max(elapsed, records.at(-1).elapsed, 1e-3);
  const top = highest(records);
  const x = (time) => (time / end) * 600;
  const y = (value) => 112 - (value / top) * 104;
  const path = (key) => {
    const points = [[0, y(records[0][key])]];
    for (const record of records) points.push([x(record.elapsed), points.at(-1)[1]], [x(record.elapsed), y(record[key])]);
    return [...points, [600, points.at(-1)[1]]];
  };
  const [low, high] = [path("lower"), path("upper")];
  return [shape("polygon", [...high, ...low.reverse()], "gap"), shape("polyline", high, "line"), shape("polyline", low, "line low")];
}

function shape(tag, points, name) {
  const made = document.createElementNS(SVG, tag);
  made.setAttribute("points", points.map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" "));
  made.setAttribute("class", name);
  return made;
}

// --- growth ---

export function growth(result) {
  const costs = result.explanations.map((one) => one.cost ?? 0);
  const top = Math.max(...costs, 1);
  const bars = element("div", "", { class: "bars", role: "img", "aria-label": `Cost at each size: ${result.steps.map((step, i) => `${step}: ${format(costs[i])}`).join(", ")}` });
  const steps = element("div", "", { class: "steps-row" });
  result.steps.forEach((step, i) => {
    const bar = element("i");
    bar.style.height = `${(costs[i] / top) * 8}rem`;
    const column = element("div");
    column.append(element("b", format(costs[i]) + (result.explanations[i].status === "optimal" ? "" : "?")), bar);
    bars.append(column);
    steps.append(element("span", `${result.parameter} = ${format(step)}`));
  });
  const made = element("div", "", { class: "growth" });
  made.append(element("p", "Words needed, as what a free word may become grows", { class: "eyebrow" }), bars, steps);
  $("extra").replaceChildren(made);
}

// --- what a set asks for, from its schema ---

export function field(name, title, schema, value) {
  const label = element("label", `${title} `);
  const input = schema.enum ? options(schema.enum) : element(schema.type === "object" ? "textarea" : "input");
  input.dataset.name = name;
  input.id = `set-${name}`;
  if (schema.type === "object") Object.assign(input, { rows: 3, spellcheck: false, placeholder: "good: bad, fine, great" });
  if (schema.type === "integer" || schema.type === "number") Object.assign(input, { type: "number", min: schema.minimum ?? "", step: schema.type === "integer" ? 1 : "any" });
  input.value = value ?? schema.default ?? (schema.type === "integer" || schema.type === "number" ? 1 : "");
  label.append(input);
  return label;
}

function options(values) {
  const made = element("select");
  made.append(...values.map((value) => element("option", value, { value })));
  return made;
}

// --- what the model says of each class ---

export function scores(found, label) {
  const rows = [...found].sort((a, b) => b.probability - a.probability).map((one) => {
    const row = element("div", "", { class: one.label === label ? "top-score" : "" });
    const bar = element("i");
    bar.style.width = `${100 * one.probability}%`;
    const track = element("span", "", { class: "track", "aria-hidden": "true" });
    track.append(bar);
    row.append(element("span", one.label, { class: "name" }), track, element("span", `${(100 * one.probability).toFixed(1)} %`, { class: "share" }));
    return row;
  });
  $("scores").replaceChildren(element("p", "What the model says of each class", { class: "eyebrow" }), ...rows);
  $("scores").hidden = false;
}

export function scope(pairs) {
  $("scope").replaceChildren(...pairs.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  $("scope").hidden = !pairs.length;
}

export function notes(lines) {
  $("notes").replaceChildren(...lines.map((line) => element("li", line)));
}
