// Side by side: the same question of several models or of two texts, a column each.

import { coded, decoded } from "./address.js";
import { $, element, pill, reveal } from "./draw.js";
import * as form from "./form.js";
import { about, ask, Refused } from "./stream.js";

const MOST = 4; // models at once
let columns = []; // each: model, text, and what has come of its answer
let run = null;

// --- the question ---

const texts = () => ["first", "second"].map((id) => $(id).value).filter((text) => text.trim());
const boxes = () => [...document.querySelectorAll("#models input")];
const chosen = () => boxes().filter((one) => one.checked).map((one) => one.value);

function question() {
  return { texts: texts(), models: chosen(), kind: $("kind").value, set: form.setValues(), "at-most": $("at-most").value, seconds: $("seconds").value };
}

function restore(before) {
  if (!Array.isArray(before.texts) || !Array.isArray(before.models)) return false;
  [$("first").value, $("second").value] = [before.texts[0] ?? "", before.texts[1] ?? ""].map(String);
  for (const one of boxes()) one.checked = before.models.includes(one.value);
  for (const id of ["kind", "at-most", "seconds"]) if (typeof before[id] === "string") $(id).value = before[id];
  form.drawSet(before.set ?? {});
  return texts().length > 0 && chosen().length > 0;
}

async function start() {
  run?.abort();
  $("problem").hidden = true;
  const asked = question();
  if (!asked.texts.length) return problem("Give at least one text.");
  if (!asked.models.length || asked.models.length > MOST) return problem(`Choose one to ${MOST} models.`);
  let set;
  try { set = form.perturbation(asked.kind, asked.set, asked["at-most"]); } catch (error) { return problem(error.message); }
  history.replaceState(null, "", `#${coded(asked)}`);
  const mine = new AbortController();
  run = mine;
  columns = asked.texts.flatMap((text) => asked.models.map((model) => ({ text, model, asked })));
  $("results").hidden = false;
  paint();
  await Promise.all(columns.map((column) => answer(column, set, Number(asked.seconds), mine)));
}

function submit() {
  start();
  if (!$("results").hidden) reveal($("results"));
}

async function answer(column, perturbation, seconds, mine) {
  try {
    for await (const [kind, data] of ask("explain", { text: column.text, model: column.model, perturbation, seconds }, mine.signal)) {
      if (run !== mine) return;
      if (kind === "text") column.seen = data;
      if (kind === "progress") column.sofar = data.positions.length;
      if (kind === "refused" || kind === "failed") column.problem = data.message;
      if (kind === "answer") { column.answer = data; paint(); return; }
      paint();
    }
  } catch (error) {
    if (error.name !== "AbortError") column.problem = error instanceof Refused ? error.message : "The server cannot be reached.";
  }
  if (run === mine) paint();
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = false;
}

// --- what is shown ---

function paint() {
  summary();
  $("columns").replaceChildren(...columns.map(drawn));
}

function summary() {
  const seen = columns.filter((one) => one.seen);
  const done = columns.filter((one) => one.answer);
  const open = columns.filter((one) => !one.answer && !one.problem).length;
  const labels = [...new Set(seen.map((one) => one.seen.label))];
  const who = new Set(columns.map((one) => one.model)).size > 1 ? "models" : "texts";
  const agreed = labels.length === 1 ? `The same label: ${labels[0]}` : `Different labels: ${labels.join(", ")}`;
  $("headline").textContent = open ? `${done.length} of ${columns.length} answers …` : seen.length < 2 ? "" : agreed;
  $("shared").replaceChildren(...(open ? [] : shared(done, who)));
}

// Words of the sets, by their place in the text: only where all columns are about one text.
function shared(done, who) {
  if (done.length < 2) return [];
  const numbers = element("p", `Words in the sets: ${done.map((one) => `${one.answer.result.positions.length} (${named(one)})`).join(", ")}.`);
  if (new Set(done.map((one) => one.text)).size > 1) return [numbers];
  const sets = done.map((one) => new Map(places(one)));
  const all = [...sets[0]].filter(([place, word]) => sets.every((set) => set.get(place) === word)).map(([, word]) => word);
  const some = new Set(sets.flatMap((set) => [...set.values()])).size;
  for (const one of done) one.both = new Set(places(one).filter(([place, word]) => sets.every((set) => set.get(place) === word)).map(([place]) => place));
  const every = done.length === 2 ? "both" : `all ${done.length}`;
  const told = all.length ? `In the sets of ${every} ${who}: ${all.map((word) => `“${word}”`).join(", ")}.` : some ? `No word is in the sets of ${every} ${who}.` : "No set holds a word.";
  return [numbers, element("p", told)];
}

const several = (part) => new Set(columns.map((one) => one[part])).size > 1;
const which = (column) => (column.text === columns[0].text ? "first text" : "second text");

// What tells a column from the others: its text, its model, or both.
const named = (column) => [several("text") ? which(column) : "", several("model") ? form.titled(column.model) : ""].filter(Boolean).join(", ");

// The place in the text, and the word, of each word in the set.
function places({ seen, answer: { result } }) {
  let at = 0;
  return seen.pieces.flatMap((piece) => {
    const here = at;
    at += piece.text.length;
    return result.positions.includes(piece.position) ? [[here, piece.text]] : [];
  });
}

const textCount = () => new Set(columns.map((one) => one.text)).size;

function drawn(column) {
  const made = element("article", "", { class: "card column" });
  const which = textCount() > 1 ? `${column.text === columns[0].text ? "First" : "Second"} text · ` : "";
  made.append(element("p", `${which}${form.titled(column.model)}`, { class: "eyebrow" }));
  if (column.seen) made.append(label(column.seen));
  if (column.answer) made.append(...answered(column));
  else made.append(element("p", column.problem ?? (column.sofar === undefined ? "in line …" : `${column.sofar} words so far …`), { class: column.problem ? "problem" : "soft" }));
  return made;
}

function label({ label: name, sure }) {
  const made = element("p", "", { class: "label" });
  made.append(element("strong", name), ` ${sure}`);
  return made;
}

function answered(column) {
  const { shown, result } = column.answer;
  const { tone, sign, text } = shown.badge;
  const words = element("p", "", { class: "reading", dir: "auto" });
  let at = 0;
  for (const piece of column.seen.pieces) {
    const kind = !column.both || column.both.has(at) ? "both" : "own";
    at += piece.text.length;
    words.append(result.positions.includes(piece.position) ? element("mark", piece.text, { class: kind }) : piece.role === "cut" ? element("s", piece.text) : piece.text);
  }
  const { kind, set, "at-most": limit, seconds } = column.asked;
  const link = element("a", "Ask it alone", { href: `/#${coded({ verb: "explain", text: column.text, model: column.model, kind, set, "at-most": limit, seconds })}` });
  const last = element("p", "", { class: "small" });
  last.append(link);
  return [element("h2", shown.headline), pill(tone, sign, text), words, element("p", shown.meaning), last];
}

// --- the rest ---

function fit() {
  for (const id of ["first", "second"]) {
    $(id).style.height = "auto";
    $(id).style.height = `${$(id).scrollHeight + 2}px`;
  }
}

async function main() {
  const told = await about();
  form.offer(told);
  for (const [place, model] of told.models.entries()) {
    const item = element("label", "", { title: model.facts });
    const box = element("input", "", { type: "checkbox", value: model.name });
    box.checked = place === 0;
    item.append(box, element("span", model.title));
    $("models").append(item);
  }
  for (const id of ["first", "second"]) $(id).maxLength = told.limits.characters;
  $("version").textContent = `suffice ${told.version}`;
  for (const id of ["first", "second"]) $(id).addEventListener("input", fit);
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  $("kind").addEventListener("change", () => form.drawSet());
  const asked = restore(decoded(location.hash));
  fit();
  if (asked) start();
  document.documentElement.dataset.ready = "yes";
}

main();
