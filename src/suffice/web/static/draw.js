// From answers to the page. Everything that came from a text goes in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function pill(tone, sign, text) {
  const made = element("span", "", { class: `badge ${tone}` });
  made.append(element("span", sign, { "aria-hidden": "true" }), ` ${text}`);
  return made;
}

// A share of one as people read it; what is not all of it is not called 100%.
export function percent(share) {
  const rounded = (100 * share).toFixed(1);
  return rounded === "100.0" && share < 1 ? "over 99.9%" : `${rounded}%`;
}

// On a small screen an answer begins below its form: it is brought into view, unless its first lines are there.
export function reveal(part) {
  const { top } = part.getBoundingClientRect();
  if (top >= 0 && top + 180 < innerHeight) return;
  part.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

export const badge = ({ tone, sign, text }) => $("badge").replaceChildren(pill(tone, sign, text));

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

export function paint({ needed = [], sure = [], some = [], none = [], changes = new Map(), marks = {}, current = null, running = false }) {
  $("words").classList.toggle("running", running);
  for (const inserted of $("words").querySelectorAll("ins")) inserted.remove();
  for (const word of wordButtons()) {
    const position = Number(word.dataset.position);
    const is = {
      needed: needed.includes(position),
      sure: sure.includes(position),
      some: some.includes(position),
      none: none.includes(position),
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
  const names = { needed: "in the set", sure: "in every equally cheap set", some: "in some equally cheap sets", none: "in no equally cheap set", changed: "changed", in: "kept in", out: "left out", guarded: "protected" };
  return Object.keys(names).filter((name) => is[name]).map((name) => names[name]);
}

// --- equally cheap sets: words in all, in some and in none of them ---

export function equal({ count, complete, in_all, in_some, sentence }, total) {
  const lines = [element("p", sentence)];
  if (count > 1) {
    const rest = total - in_all.length - in_some.length;
    const of = complete ? `of the ${count} sets` : "of the sets found";
    const legend = element("ul", "", { class: "legend" });
    legend.append(entry("all", `in all ${of}`, in_all.length), entry("some", `in some ${of}`, in_some.length));
    if (complete) legend.append(entry("none", `in none ${of}`, rest));
    lines.push(legend, element("p", "Found by the search; the certificate is about the marked set alone.", { class: "soft small" }));
  }
  $("equal").replaceChildren(...lines);
  $("equal").hidden = false;
}

// --- where an answer says little: the question to ask next ---

export function next({ sentence, command }) {
  $("next").replaceChildren(element("p", sentence), element("pre", command, { class: "small" }));
  $("next").hidden = false;
}

function entry(kind, text, count) {
  const made = element("li", "", { class: kind });
  made.append(element("span", String(count), { class: "swatch" }), ` ${count === 1 ? "word" : "words"} ${text}`);
  return made;
}

// --- one word ---

export function inspector(word, about, choices, onMore) {
  const lines = word ? story(word, about, onMore) : [
    element("p", "Choose a word: why it is in the set, what it may become, what it can do alone.", { class: "soft" }),
    element("p", "With the keyboard: Tab to the words, arrows to move, then I, X or P.", { class: "soft small keys" }),
  ];
  if (word) {
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

function story(word, about, onMore) {
  const head = element("p");
  head.append(element("strong", word), ` is ${about?.standing ?? "a word of the text"}`);
  const lines = [head];
  if (about?.flip) lines.push(element("p", "Why this word", { class: "eyebrow" }), ...counterexample(about));
  else if (about?.reason) lines.push(element("p", about.reason));
  if (about?.choices?.length) lines.push(element("p", about.changing, { class: "eyebrow" }), options(about, onMore));
  else if (about?.options) lines.push(element("p", capital(about.options)));
  if (about?.strength) lines.push(element("p", about.strength));
  return lines;
}

const capital = (line) => line[0].toUpperCase() + line.slice(1);

// A change that the classifier was run on: as a text where it was run on that very text.
function counterexample({ flip, reason }) {
  if (!flip.text) return [element("p", reason)];
  const shown = element("p", "", { class: "tried", dir: "auto" });
  for (const { text, became } of flip.pieces) {
    if (became === null) shown.append(text);
    else shown.append(element("del", text), ...(became ? [" ", element("ins", became)] : []));
  }
  const how = flip.real ? "The classifier was run on this text" : "The nearest words, as an illustration; the classifier was run on this text too";
  return [shown, element("p", `→ ${flip.label}. ${how}.`)];
}

function options({ choices, more, gone }, onMore) {
  const made = element("ul", "", { class: "chips" });
  made.append(...choices.map((one) => element("li", one || `nothing (${gone})`, one ? {} : { class: "gone" })));
  if (!more) return made;
  const item = element("li");
  const button = element("button", `${more} more`, { type: "button", "data-key": "more" });
  button.addEventListener("click", onMore);
  item.append(button);
  made.append(item);
  return made;
}

// --- what each word can do alone: bars to the left where it lowers the margin, to the right where it raises it ---

export function alone(words, limit = 10) {
  const most = (one) => Math.max(one.alone.fall, one.alone.rise ?? 0);
  const able = words.filter((one) => one.alone && most(one) > 0);
  const strongest = new Set([...able].sort((a, b) => most(b) - most(a)).slice(0, limit));
  const known = able.filter((one) => strongest.has(one));
  $("alone").hidden = !known.length;
  if (!known.length) return;
  const widest = Math.max(...known.map(most));
  const exact = known.every((one) => one.alone.exact);
  const rows = known.map(({ position, strength, alone: one }) => {
    const row = element("div", "", { title: strength });
    row.append(element("span", wordAt(position)?.textContent ?? "", { class: "name", dir: "auto" }), bar("fall", one.fall, widest), bar("rise", one.rise ?? 0, widest));
    row.append(element("span", strength, { class: "hidden" }));
    return row;
  });
  const heads = element("div", "", { class: "heads", "aria-hidden": "true" });
  heads.append(element("span"), element("span", "the margin can fall by"), element("span", exact ? "or rise by" : ""));
  const how = exact ? "Exact: every change of the one word was run." : "A bound: it falls by no more than this. How far it rises was not looked for.";
  $("alone").replaceChildren(element("p", "What each word can do alone", { class: "eyebrow" }), heads, ...rows, element("p", `The margin, the label’s score minus that of its strongest rival, is ${format(known[0].alone.margin)}. ${how}`, { class: "soft small" }), ...rest(able.length - known.length, () => alone(words, Infinity)));
}

function rest(count, onAll) {
  if (!count) return [];
  const button = element("button", `The ${count} other words`, { type: "button", class: "quiet" });
  button.addEventListener("click", onAll);
  return [button];
}

function bar(kind, size, most) {
  const made = element("span", "", { class: `track ${kind}` });
  const filled = element("i");
  filled.style.width = `${(100 * size) / most}%`;
  made.append(filled, element("b", size > 0 ? outward(size) : ""));
  return made;
}

// Three digits, never less than the size itself.
function outward(size) {
  const unit = 10 ** (Math.floor(Math.log10(size)) - 2);
  return String(Number((Math.ceil(size / unit) * unit).toPrecision(3)));
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

// --- growth: the drawing is the server's own, made of numbers alone ---

export function growth({ chart, caption, legend }) {
  const drawing = new DOMParser().parseFromString(chart, "image/svg+xml").documentElement;
  $("extra").replaceChildren(element("p", caption, { class: "eyebrow" }), document.importNode(drawing, true), element("p", legend, { class: "soft small" }));
}

// --- what the model says of each class ---

// Probabilities as bars; what a model gives without any, its scores, as numbers alone.
export function scores(found, label) {
  const rows = [...found].sort((a, b) => b.score - a.score).map((one) => {
    const row = element("div", "", { class: one.label === label ? "top-score" : "" });
    const bar = element("i");
    bar.style.width = `${100 * (one.probability ?? 0)}%`;
    const track = element("span", "", { class: one.probability === null ? "" : "track", "aria-hidden": "true" });
    track.append(bar);
    const share = one.probability === null ? `${Number(one.score.toPrecision(3))}` : percent(one.probability);
    row.append(element("span", one.label, { class: "name" }), track, element("span", share, { class: "share" }));
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
