// The page: what is asked, what is under way, what is shown. The question lives in the address, after the #.

import { coded, decoded } from "./address.js";
import * as draw from "./draw.js";
import { $ } from "./draw.js";
import * as form from "./form.js";
import { about, ask, askOnce, Refused, stop } from "./stream.js";

const EXAMPLES = [
  "A gripping, beautifully acted film that never quite loses its nerve",
  "The jokes are stale, the plot is thin and the ending is a mess",
  "Not as clever as it thinks it is, but warm, honest and very funny",
];
const MARKS = ["include", "exclude", "protect"];
const FORM = ["text", "model", "kind", "seconds", "at-most"];

const question = { verb: "explain", set: {}, include: [], exclude: [], protect: [] };
let run = null; // the search under way: its abort, job, records, clock
let shown = { needed: [], changes: new Map(), words: null }; // words: null until they have come
let current = null; // the chosen word

// --- the question ---

function readForm() {
  for (const id of FORM) question[id] = $(id).value;
  question.set = form.setValues();
}

function writeForm() {
  for (const id of FORM) if (typeof question[id] === "string") $(id).value = question[id];
  form.drawSet(question.set);
  form.modelChosen();
  fit();
}

const perturbation = () => form.perturbation(question.kind, question.set, question["at-most"]);

function body(verb) {
  const shared = { text: question.text, model: question.model, seconds: Number(question.seconds) };
  const { include, exclude, protect } = question;
  switch (verb) {
    case "explain": return { ...shared, perturbation: perturbation(), include, exclude };
    case "bias": return { ...shared, perturbation: perturbation(), protected: protect };
    case "profile": return { ...shared, perturbation: perturbation(), include, exclude, steps: form.sizes(question.kind, question.set) };
    default: return { ...shared, perturbation: perturbation() };
  }
}

// --- the address holds the whole question ---

const writeAddress = () => history.replaceState(null, "", `#${coded(question)}`);

function readAddress() {
  const data = decoded(location.hash);
  for (const name of MARKS) if (Array.isArray(data[name])) question[name] = data[name].filter(Number.isInteger);
  for (const name of [...FORM, "verb"]) if (typeof data[name] === "string") question[name] = data[name];
  question.set = Object.fromEntries(Object.entries(data.set ?? {}).filter(([, one]) => typeof one === "string"));
  return typeof data.text === "string" && data.text.trim() !== "";
}

// --- asking ---

async function start(verb = question.verb) {
  readForm();
  question.verb = verb;
  run?.abort.abort();
  if (!question.text.trim()) return problem("Give a text with at least one word.");
  writeAddress();
  select(verb);
  form.about(verb === "bias");
  const mine = { abort: new AbortController(), job: null, records: [], started: performance.now(), over: false, stops: 0 };
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

function submit() {
  start();
  if (!$("answer").hidden) draw.reveal($("answer"));
}

function begin(verb) {
  $("problem").hidden = true;
  $("answer").hidden = false;
  $("headline").textContent = unasked(verb) ? "Which words should not matter?" : "Looking for a proof …";
  for (const id of ["badge", "extra"]) $(id).replaceChildren();
  $("meaning").textContent = "";
  for (const id of ["scope", "actions", "equal", "next", "alone"]) $(id).hidden = true;
  $("gauge").hidden = verb === "bias" || verb === "profile";
  $("running").hidden = false;
  $("stop").disabled = false;
  $("stop").textContent = "Stop, keep the best";
  $("phase").textContent = "in line";
  $("chart-figure").toggleAttribute("hidden", false);
  run.asker = document.activeElement;
  $("go").disabled = true;
  shown = { needed: [], changes: new Map(), words: null };
  repaint(true);
  freshness();
  run.timer = setInterval(tick, 100);
  tick();
}

function end() {
  clearInterval(run?.timer);
  $("running").hidden = true;
  ready();
}

// The button can be pressed again; who pressed it by the keyboard is still there.
function ready() {
  $("go").disabled = false;
  if (run?.asker === $("go") && document.activeElement === document.body) $("go").focus({ preventScroll: true });
}

// Stop once: a search keeps the best it has. Stop twice, or before it has begun: no answer. After the answer: no details.
function halt() {
  if (!run) return;
  run.stops += 1;
  if (!run.job) { run.abort.abort(); problem("Stopped before it had begun."); return; }
  stop(run.job);
  $("stop").textContent = "Stop now, without an answer";
  $("stop").disabled = true;
  setTimeout(() => ($("stop").disabled = false), 1000);
}

function tick() {
  if (run && !run.over) draw.bounds(run.records, (performance.now() - run.started) / 1000);
}

function take(kind, data, verb) {
  if (kind === "job") { run.job = data.id; $("phase").textContent = verb === "bias" ? "looking for a proof" : "searching"; }
  if (kind === "text") seen(data);
  if (kind === "progress") progress(data);
  if (kind === "phase") $("phase").textContent = "checking the proof";
  if (kind === "refused" || kind === "failed") { run.over = true; problem(data.message); }
  if (kind === "answer") { run.over = true; answered(data, verb); }
  if (kind === "equal") equal(data);
  if (kind === "next") draw.next({ ...data, command: data.command.replace("--model MODEL", `--model ${question.model}`) });
  if (kind === "words") { shown.words = data.words; draw.alone(data.words); repaint(false); inspect(); }
  if (kind === "report") { $("get-html").hidden = unasked(verb); }
}

function seen(data) {
  draw.words(data.pieces, pick);
  draw.notes(data.notes);
  draw.scores(data.scores, data.label);
  $("label").textContent = `The model says ${data.label}, ${data.sure}`;
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
  $("chart-figure").toggleAttribute("hidden", run.records.length < 3);
  show(data, verb);
  downloads(data, verb);
  repaint(false);
  inspect();
  clearInterval(run.timer);
  ready();
  $("stop").textContent = "Stop, no details";
  $("phase").textContent = "the answer is there; looking at each word";
  $("running").hidden = verb !== "explain";
}

// The equally cheap sets: words in all of them are marked as sure, words in some as one choice of several.
function equal(told) {
  const places = (words) => words.map((one) => one.position);
  const all = draw.wordButtons().map((word) => Number(word.dataset.position));
  shown.sure = told.count > 1 ? places(told.in_all) : [];
  shown.some = told.count > 1 ? places(told.in_some) : [];
  shown.none = told.count > 1 && told.complete ? all.filter((one) => !shown.sure.includes(one) && !shown.some.includes(one)) : [];
  draw.equal(told, all.length);
  repaint(false);
}

// What each verb's answer marks in the text.
const MARKED = {
  explain: (result) => ({ needed: result.positions, changes: changes(result.witness) }),
  contrast: (result) => ({ needed: [], changes: changes(result.flip) }),
  bias: (result) => ({ needed: [], changes: changes(result.witness) }),
  profile: (result) => ({ needed: result.explanations.at(-1).positions, changes: new Map() }),
};

function show({ shown: said, result }, verb) {
  shown = { ...MARKED[verb](result), words: null };
  if (unasked(verb)) return chooseWords();
  $("headline").textContent = said.headline;
  draw.badge(said.badge);
  $("meaning").textContent = said.meaning;
  draw.scope(said.scope);
  if (said.chart) draw.growth(said);
}

function chooseWords() {
  $("headline").textContent = "Which words should not matter?";
  $("meaning").textContent = "Choose words in the text: names, genders, places. Then see whether they alone can change the label.";
}

// what the changed words become; nothing where they are deleted
const changes = (flip) => new Map(flip ? flip.positions.map((position, i) => [position, flip.words[i]]) : []);

// of protected words, where none is chosen yet: nothing was asked that somebody would keep
const unasked = (verb) => verb === "bias" && !question.protect.length;

function downloads({ id, files }, verb) {
  const names = { html: "report.html", certificate: "answer.cert", json: "answer.json" };
  for (const [kind, name] of Object.entries(names)) {
    const link = $(`get-${kind}`);
    link.hidden = unasked(verb) || !files.includes(kind); // the report comes later
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
  draw.inspector(word?.textContent, about_word(), choices, moreChoices);
}

// Everything that the chosen word may become, not only the nearest.
async function moreChoices() {
  const word = about_word();
  const asked = { model: question.model, word: draw.wordAt(word.position).textContent, perturbation: perturbation() };
  try {
    const { words } = await askOnce("neighbours", asked);
    word.choices = [...new Set([...word.choices, ...words])];
    word.more = 0;
  } catch (error) {
    problem(error instanceof Refused ? error.message : "The server cannot be reached.");
  }
  inspect();
}

function about_word() {
  const found = shown.words?.find((one) => one.position === current);
  if (found || !run?.over) return found;
  const standing = shown.needed.includes(current) ? "in the set" : "free";
  return { standing: question.verb === "explain" ? standing : "a word of the text", reason: shown.words === null && question.verb === "explain" && !$("running").hidden ? "looking at it …" : "" };
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
  freshness();
}

// An answer is about the question that was asked: where the form says something else by now, that is said.
function freshness() {
  const asked = JSON.stringify([FORM.map((id) => question[id]), question.set]);
  const now = JSON.stringify([FORM.map((id) => $(id).value), form.setValues()]);
  const stale = !$("answer").hidden && asked !== now;
  $("answer").classList.toggle("stale", stale);
  $("stale").hidden = !stale;
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
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  $("text").addEventListener("input", changedText);
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
  });
  $("kind").addEventListener("change", () => { form.drawSet(); freshness(); });
  $("ask").addEventListener("input", freshness);
  $("stop").addEventListener("click", halt);
  $("share").addEventListener("click", share);
  $("words").addEventListener("keydown", keys);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => start(tab.dataset.verb));
    tab.addEventListener("keydown", tabKeys);
  }
  addEventListener("hashchange", () => readAddress() && open());
}

function open() {
  for (const id of ["model", "kind"]) if (![...$(id).options].some((option) => option.value === question[id])) delete question[id];
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
  form.offer(told);
  for (const tab of document.querySelectorAll("[role=tab]")) tab.hidden = !told.verbs.includes(tab.dataset.verb);
  $("text").maxLength = told.limits.characters;
  $("version").textContent = `suffice ${told.version}`;
  inspect();
  if (readAddress()) open();
  document.documentElement.dataset.ready = "yes";
}

main();
