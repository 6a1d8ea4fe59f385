// The page: what is asked, what is under way, what is shown. The question lives in the address, after the #.

import * as draw from "./draw.js";
import { $ } from "./draw.js";
import { about, ask, Refused, stop } from "./stream.js";

const EXAMPLES = [
  "A gripping, beautifully acted film that never quite loses its nerve",
  "The jokes are stale, the plot is thin and the ending is a mess",
  "Not as clever as it thinks it is, but warm, honest and very funny",
];
const SIZES = {
  "knn-box": ["Nearest words", 60, 1],
  "knn-hull": ["Nearest words", 120, 1],
  "epsilon-ball": ["Distance ε", 0.5, 0.05],
};
const MARKS = ["include", "exclude", "protect"];
const FIELDS = ["text", "model", "kind", "size", "swaps", "seconds", "verb", ...MARKS];

const question = { verb: "explain", include: [], exclude: [], protect: [] };
let run = null; // the search under way: its abort, job, records, clock
let shown = { needed: [], changes: new Map(), words: [] };
let current = null; // the chosen word

// --- the question ---

function readForm() {
  for (const id of ["text", "model", "kind", "size", "swaps", "seconds"]) question[id] = $(id).value;
}

function writeForm() {
  for (const id of ["text", "model", "kind", "swaps", "seconds"]) if (question[id] !== undefined) $(id).value = question[id];
  sizeField();
  if (question.size !== undefined) $("size").value = question.size;
  fit();
}

function sizeField() {
  const [name, value, step] = SIZES[$("kind").value] ?? [];
  $("size-label").hidden = name === undefined;
  $("swaps-label").hidden = $("kind").value !== "word-swap";
  if (name === undefined || $("size-name").textContent === name) return;
  $("size-name").textContent = name;
  $("size").step = step;
  $("size").value = value;
}

function perturbation() {
  const size = Number(question.size);
  switch (question.kind) {
    case "epsilon-ball": return { kind: "epsilon-ball", eps: size, p: "inf" };
    case "deletion": return { kind: "deletion" };
    case "word-swap": return { kind: "word-swap", swaps: swaps(question.swaps) };
    default: return { kind: question.kind, k: Math.round(size) };
  }
}

function swaps(lines) {
  const pairs = lines.split("\n").map((line) => line.split(":")).filter((pair) => pair.length === 2);
  return Object.fromEntries(pairs.map(([word, others]) => [word.trim(), others.split(",").map((other) => other.trim()).filter(Boolean)]));
}

function body(verb) {
  const shared = { text: question.text, model: question.model, seconds: Number(question.seconds) };
  const { include, exclude, protect } = question;
  switch (verb) {
    case "explain": return { ...shared, perturbation: perturbation(), include, exclude };
    case "bias": return { ...shared, perturbation: perturbation(), protected: protect };
    case "profile": return { ...shared, include, exclude, ...family() };
    default: return { ...shared, perturbation: perturbation() };
  }
}

function family() {
  if (question.kind === "epsilon-ball") return { family: "epsilon-ball", steps: [0.25, 0.5, 1, 2, 4].map((x) => x * Number(question.size)) };
  return { family: question.kind === "knn-hull" ? "knn-hull" : "knn-box", steps: [5, 15, 40, 100, 250] };
}

// --- the address holds the whole question ---

function writeAddress() {
  const data = new TextEncoder().encode(JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, question[name]]))));
  const coded = btoa(String.fromCharCode(...data)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", `#${coded}`);
}

function readAddress() {
  try {
    const bytes = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const data = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
    for (const name of FIELDS) {
      const listed = MARKS.includes(name);
      if (listed && Array.isArray(data[name])) question[name] = data[name].filter(Number.isInteger);
      else if (!listed && typeof data[name] === "string") question[name] = data[name];
    }
    return typeof data.text === "string" && data.text.trim() !== "";
  } catch {
    return false;
  }
}

// --- asking ---

async function start(verb = question.verb) {
  readForm();
  question.verb = verb;
  run?.abort.abort();
  if (!question.text.trim()) return problem("Give a text with at least one word.");
  writeAddress();
  select(verb);
  const mine = { abort: new AbortController(), job: null, records: [], started: performance.now(), over: false };
  run = mine;
  begin(verb);
  try {
    for await (const [kind, data] of ask(verb, body(verb), mine.abort.signal)) if (run === mine) take(kind, data, verb);
    if (run === mine && !mine.over) problem("The server went away before it answered. Ask again.");
  } catch (error) {
    if (error.name !== "AbortError" && run === mine) problem(error instanceof Refused ? error.message : "The server cannot be reached.");
  }
  if (run === mine) end();
}

function begin(verb) {
  $("problem").hidden = true;
  $("answer").hidden = false;
  $("headline").textContent = verb === "bias" && !question.protect.length ? "Which words should not matter?" : "Looking for a proof …";
  for (const id of ["badge", "extra"]) $(id).replaceChildren();
  $("meaning").textContent = "";
  $("scope").hidden = $("actions").hidden = true;
  $("gauge").hidden = verb === "bias" || verb === "profile";
  $("stop").hidden = false;
  $("chart").toggleAttribute("hidden", false);
  $("go").disabled = true;
  shown = { needed: [], changes: new Map(), words: [] };
  repaint(true);
  run.timer = setInterval(tick, 100);
  tick();
}

function end() {
  clearInterval(run?.timer);
  $("stop").hidden = true;
  $("go").disabled = false;
}

function tick() {
  if (run && !run.over) draw.bounds(run.records, (performance.now() - run.started) / 1000);
}

function take(kind, data, verb) {
  if (kind === "job") run.job = data.id;
  if (kind === "text") seen(data);
  if (kind === "progress") progress(data);
  if (kind === "refused" || kind === "failed") { run.over = true; problem(data.message); }
  if (kind === "answer") { run.over = true; answered(data, verb); }
}

function seen(data) {
  draw.words(data.pieces, pick);
  draw.notes(data.notes);
  $("label").textContent = `The model says ${data.label}, ${(100 * data.probability).toFixed(1)} % sure`;
  repaint(true);
}

function progress(record) {
  run.records.push(record);
  if (run.records.length > 400) run.records.splice(1, 1);
  if (question.verb === "explain") {
    shown.needed = record.positions;
    $("headline").textContent = `${record.positions.length} words so far …`;
    repaint(true);
  }
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = false;
  if (run && !run.records.length) $("headline").textContent = "No answer";
  end();
}

// --- answers ---

function answered(data, verb) {
  const { result } = data;
  const seconds = result.stats?.seconds ?? (performance.now() - run.started) / 1000;
  const last = { lower: result.lower_bound, upper: result.cost, elapsed: seconds };
  if (verb !== "bias" && verb !== "profile" && last.upper !== null && last.lower !== null) run.records.push(last);
  draw.bounds(run.records, seconds);
  $("gauge").hidden ||= !run.records.length;
  $("chart").toggleAttribute("hidden", run.records.length < 3);
  SHOW[verb](data, result);
  downloads(data);
  repaint(false);
  inspect();
}

const SHOW = {
  explain({ shown: said }, result) {
    shown = { needed: result.positions, changes: changes(result.witness), words: said.words };
    $("headline").textContent = said.headline;
    draw.badge(said.badge);
    $("meaning").textContent = said.meaning;
    draw.scope(said.scope);
  },
  contrast({ meaning }, result) {
    shown = { needed: [], changes: changes(result.flip), words: [] };
    const count = result.positions.length;
    const some = `${count} changed ${count === 1 ? "word flips" : "words flip"} it`;
    $("headline").textContent = { none: "Nothing flips it", unknown: "Undecided" }[result.status] ?? some;
    draw.badge({
      optimal: { tone: "good", sign: "✓", text: "proved: nothing cheaper flips it" },
      found: { tone: "warn", sign: "◐", text: "a flip; a cheaper one may exist" },
      none: { tone: "good", sign: "✓", text: "proved: no allowed change flips the label" },
      unknown: { tone: "warn", sign: "?", text: "undecided" },
    }[result.status]);
    $("meaning").textContent = meaning;
  },
  bias({ sentence }, result) {
    shown = { needed: [], changes: changes(result.witness), words: [] };
    const heads = { independent: "The label does not depend on them", dependent: "The label depends on them", unknown: "Undecided" };
    $("headline").textContent = question.protect.length ? heads[result.status] : "Which words should not matter?";
    if (!question.protect.length) { $("meaning").textContent = "Choose words in the text: names, genders, places. Then see whether they alone can change the label."; return; }
    draw.badge({
      independent: { tone: "good", sign: "✓", text: "proved independent" },
      dependent: { tone: "bad", sign: "✗", text: "proved dependent" },
      unknown: { tone: "warn", sign: "?", text: "undecided" },
    }[result.status]);
    $("meaning").textContent = sentence;
  },
  profile({ sentence }, result) {
    const last = result.explanations.at(-1);
    shown = { needed: last.positions, changes: new Map(), words: [] };
    $("headline").textContent = `${last.positions.length} words at the largest size`;
    $("meaning").textContent = sentence;
    draw.growth(result);
  },
};

// what the changed words become; nothing where they are deleted
const changes = (flip) => new Map(flip ? flip.positions.map((position, i) => [position, question.kind === "deletion" ? "" : flip.words[i]]) : []);

function downloads({ id, files }) {
  const names = { html: "report.html", certificate: "answer.cert", json: "answer.json" };
  for (const [kind, name] of Object.entries(names)) {
    const link = $(`get-${kind}`);
    link.hidden = !files.includes(kind);
    link.href = `/api/answers/${encodeURIComponent(id)}/${name}`;
  }
  $("actions").hidden = false;
}

// --- words ---

function repaint(running) {
  const { verb, include, exclude, protect } = question;
  const marks = { explain: { include, exclude, protect }, profile: { include, exclude }, bias: { protect } }[verb];
  draw.paint({ ...shown, marks, current: verb === "explain" ? current : null, running });
}

function pick(position) {
  current = position;
  if (question.verb === "bias") return toggle("protect");
  rove(position);
  repaint(!!run && !run.over);
  inspect();
}

function inspect() {
  const word = current === null ? null : draw.wordAt(current);
  const choice = (name, key, mark) => ({ name, key, pressed: question[mark].includes(current), act: () => toggle(mark) });
  const choices = [choice("Keep in", "i", "include"), choice("Leave out", "x", "exclude")];
  if (!$("tab-bias").hidden) choices.push(choice("Protect", "p", "protect"));
  draw.inspector(word?.textContent, shown.words.find((one) => one.position === current), choices);
}

function toggle(mark) {
  if (current === null) return;
  const held = question[mark].includes(current);
  for (const other of mark === "protect" ? ["protect"] : ["include", "exclude"]) question[other] = question[other].filter((one) => one !== current);
  if (!held) question[mark].push(current);
  rove(current);
  const focused = document.activeElement?.dataset?.key;
  inspect();
  if (focused) $("inspector").querySelector(`[data-key="${focused}"]`)?.focus();
  start(mark === "protect" ? "bias" : "explain");
}

function rove(position) {
  for (const word of draw.wordButtons()) word.tabIndex = Number(word.dataset.position) === position ? 0 : -1;
}

function keys(event) {
  const words = draw.wordButtons();
  const at = words.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: words.length - 1 }[event.key];
  const mark = { i: "include", x: "exclude", p: "protect" }[event.key.toLowerCase()];
  if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  if (to !== undefined && words[to]) {
    event.preventDefault();
    words[to].focus();
    current = Number(words[to].dataset.position);
    rove(current);
    repaint(!!run && !run.over);
    inspect();
  } else if (mark && !(mark === "protect" && $("tab-bias").hidden)) {
    event.preventDefault();
    current = Number(words[at].dataset.position);
    toggle(mark);
  }
}

// --- tabs ---

const tabs = () => [...document.querySelectorAll("[role=tab]:not([hidden])")];

function select(verb) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.verb === verb));
    tab.tabIndex = tab.dataset.verb === verb ? 0 : -1;
  }
  $("panel").setAttribute("aria-labelledby", `tab-${verb}`);
  $("inspector").hidden = verb !== "explain";
}

function tabKeys(event) {
  const all = tabs();
  const to = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!to) return;
  const next = all[(all.indexOf(document.activeElement) + to + all.length) % all.length];
  event.preventDefault();
  next.focus();
  start(next.dataset.verb);
}

// --- the rest of the page ---

function fit() {
  $("text").style.height = "auto";
  $("text").style.height = `${$("text").scrollHeight}px`;
}

function changedText() {
  fit();
  for (const mark of MARKS) question[mark] = [];
  current = null;
}

async function share() {
  const link = location.href;
  try {
    await navigator.clipboard.writeText(link);
    $("share").textContent = "Link copied";
  } catch {
    $("share").textContent = "The link is in the address bar";
  }
  setTimeout(() => ($("share").textContent = "Copy link to this question"), 2000);
}

function examples() {
  for (const text of EXAMPLES) {
    const button = draw.element("button", text, { type: "button" });
    button.addEventListener("click", () => {
      $("text").value = text;
      changedText();
      start("explain");
    });
    $("examples").append(button);
  }
}

function wire() {
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); start(question.verb); });
  $("text").addEventListener("input", changedText);
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); start(question.verb); }
  });
  $("kind").addEventListener("change", sizeField);
  $("stop").addEventListener("click", () => run?.job && stop(run.job));
  $("share").addEventListener("click", share);
  $("words").addEventListener("keydown", keys);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => start(tab.dataset.verb));
    tab.addEventListener("keydown", tabKeys);
  }
  addEventListener("hashchange", () => readAddress() && open());
}

function open() {
  if (![...$("model").options].some((option) => option.value === question.model)) delete question.model;
  if (!$(`tab-${question.verb}`) || $(`tab-${question.verb}`).hidden) question.verb = "explain";
  writeForm();
  draw.forgetWords();
  current = null;
  start(question.verb);
}

async function main() {
  examples();
  wire();
  const told = await about();
  for (const model of told.models) $("model").append(draw.element("option", model.name, { value: model.name, title: model.labels.join(", ") }));
  for (const tab of document.querySelectorAll("[role=tab]")) tab.hidden = !told.verbs.includes(tab.dataset.verb);
  $("text").maxLength = told.limits.characters;
  $("version").textContent = `suffice ${told.version}`;
  sizeField();
  inspect();
  if (readAddress()) open();
  document.documentElement.dataset.ready = "yes";
}

main();
