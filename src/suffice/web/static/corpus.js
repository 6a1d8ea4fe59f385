// Many texts: a file goes to the server, its rows come back as they are done, and the table shows those that are wanted.

import { coded, decoded } from "./address.js";
import { $, element, pill, reveal } from "./draw.js";
import * as form from "./form.js";
import { about, ask, askOnce, got, Refused } from "./stream.js";

const SHOWN = 100; // rows of the table at once
const STATUS = {
  optimal: ["good", "✓", "cheapest set"],
  sufficient: ["warn", "◐", "enough, cheaper may exist"],
  tested: ["test", "≈", "tested, not proved"],
  infeasible: ["bad", "✗", "no set is enough"],
  dependent: ["bad", "✗", "dependent"],
  independent: ["good", "✓", "independent"],
  trivial: ["plain", "–", "nothing to prove"],
  unknown: ["warn", "?", "undecided"],
  error: ["warn", "!", "error"],
};

let limits = {};
let file = null; // the file that was dropped: its name, kind and text
let corpus = null; // what the server calls it, how many rows it has
let question = {}; // what was asked of every row, for links to one text
let lines = new Map(); // row number to what is known of it
let run = null; // the connection over which rows come
let visible = SHOWN;
let painting = 0;

// --- the file ---

async function take(chosen) {
  if (!chosen) return;
  if (!/\.(csv|jsonl)$/i.test(chosen.name)) return problem(`${chosen.name} must end in .csv or .jsonl.`);
  if (chosen.size > limits.upload) return problem(`${chosen.name} has ${megabytes(chosen.size)}; at most ${megabytes(limits.upload)} can be taken. Larger files: suffice batch, on the command line.`);
  file = { name: chosen.name, format: chosen.name.split(".").pop().toLowerCase(), texts: await chosen.text() };
  $("file-name").textContent = chosen.name;
  $("file-facts").textContent = `${megabytes(chosen.size)}. Drop another to change it.`;
  $("problem").hidden = true;
}

const megabytes = (bytes) => (bytes < 1e5 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1e6).toFixed(1)} MB`);

function dropping() {
  const over = (on) => (event) => { event.preventDefault(); $("drop").classList.toggle("over", on); };
  addEventListener("dragover", over(true));
  addEventListener("dragleave", over(false));
  addEventListener("drop", (event) => { over(false)(event); take(event.dataTransfer.files[0]); });
  $("file").addEventListener("change", () => take($("file").files[0]));
}

// --- asking ---

function asked() {
  const set = form.perturbation($("kind").value, form.setValues(), $("at-most").value);
  const shared = { model: $("model").value, perturbation: set, seconds: Number($("seconds").value), task: $("task").value };
  if (shared.task === "explain") return shared;
  const groups = [...document.querySelectorAll("#groups input:checked")].map((one) => one.value);
  return { ...shared, groups, protected: $("protected").value.split(",").map((word) => word.trim()).filter(Boolean) };
}

async function start() {
  if (!file) return problem("Choose a file first.");
  run?.abort();
  try {
    question = { model: $("model").value, kind: $("kind").value, set: form.setValues(), "at-most": $("at-most").value };
    await open(await askOnce("corpora", { ...file, ...asked() }));
    reveal($("results"));
    await go();
  } catch (error) {
    problem(said(error));
  }
}

const said = (error) => (error instanceof Refused ? error.message : "The server cannot be reached.");

async function open(found) {
  corpus = found;
  history.replaceState(null, "", `#${coded({ corpus: corpus.id, question })}`);
  lines = new Map();
  visible = SHOWN;
  $("problem").hidden = true;
  $("results").hidden = false;
  $("title").textContent = corpus.name;
  if (corpus.done) for (const line of (await got(`corpora/${corpus.id}`)).lines) lines.set(line.row, line);
  offer();
  paint();
}

async function go() {
  const mine = new AbortController();
  run = mine;
  paint();
  try {
    for await (const [kind, data] of ask(`corpora/${corpus.id}/run`, {}, mine.signal)) {
      if (run !== mine) return;
      if (kind === "row") { lines.set(data.row, data); later(); }
    }
  } catch (error) {
    if (error.name !== "AbortError") problem(said(error));
  }
  if (run !== mine) return;
  run = null;
  offer();
  paint();
}

function halt() {
  if (run) { run.abort(); run = null; paint(); } else go();
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = false;
}

// --- what is shown ---

// Rows may come faster than they can be drawn.
function later() {
  painting ||= requestAnimationFrame(() => { painting = 0; offer(); paint(); });
}

function paint() {
  if (!corpus) return;
  const count = (status) => [...lines.values()].filter((one) => one.status === status).length;
  const parts = Object.keys(STATUS).filter(count).map((status) => `${STATUS[status][2]}: ${count(status).toLocaleString("en")}`);
  const done = lines.size === corpus.rows;
  $("headline").textContent = `${lines.size.toLocaleString("en")} of ${corpus.rows.toLocaleString("en")} texts`;
  $("state").textContent = parts.join(" · ") || "looking at the first texts …";
  $("progress").max = corpus.rows;
  $("progress").value = lines.size;
  $("halt").hidden = done;
  $("halt").textContent = run ? "Stop" : "Go on";
  $("go").disabled = !!run;
  files();
  rows();
}

function files() {
  for (const [name, path] of [["report", "report.html"], ["table", "table.csv"], ["lines", "lines.jsonl"]]) {
    $(`get-${name}`).href = `/api/corpora/${corpus.id}/${path}`;
    $(`get-${name}`).hidden = !lines.size || (name === "report" && corpus.task !== "bias");
  }
}

// The choices of the filters: what has come so far.
function offer() {
  const all = [...lines.values()];
  const kinds = Object.keys(STATUS).filter((status) => all.some((one) => one.status === status));
  choices("by-status", kinds.map((one) => [one, STATUS[one][2]]));
  choices("by-label", [...new Set(all.map((one) => one.label).filter(Boolean))].sort().map((one) => [one, one]));
}

function choices(id, pairs) {
  const names = ["", ...pairs.map(([value]) => value)];
  if ([...$(id).options].map((one) => one.value).join("\n") === names.join("\n")) return;
  const before = $(id).value;
  $(id).replaceChildren(element("option", "all", { value: "" }), ...pairs.map(([value, text]) => element("option", text, { value })));
  $(id).value = names.includes(before) ? before : "";
}

function wanted() {
  const [status, label, word] = [$("by-status").value, $("by-label").value, $("by-word").value.trim().toLowerCase()];
  const fits = (one) => (!status || one.status === status) && (!label || one.label === label) && (!word || searched(one).toLowerCase().includes(word));
  const orders = { row: (a, b) => a.row - b.row, most: (a, b) => b.words.length - a.words.length || a.row - b.row, few: (a, b) => a.words.length - b.words.length || a.row - b.row };
  return [...lines.values()].filter(fits).sort(orders[$("by-order").value]);
}

const searched = (line) => ($("by-where").value === "marked" ? line.words.join(" ") : textOf(line));
const textOf = (line) => line.pieces.map(([text]) => text).join("");

function rows() {
  const fitting = wanted();
  $("table").tBodies[0].replaceChildren(...fitting.slice(0, visible).map(row));
  $("count").textContent = fitting.length === lines.size ? "" : `${fitting.length.toLocaleString("en")} of ${lines.size.toLocaleString("en")} fit`;
  $("more").hidden = fitting.length <= visible;
  $("more").textContent = `Show more (${(fitting.length - visible).toLocaleString("en")} left)`;
}

function row(line) {
  const made = element("tr");
  const label = element("td", line.label);
  if (line.expected && line.label && line.expected !== line.label) label.append(element("span", `expected ${line.expected}`, { class: "note soft small" }));
  const badge = element("td");
  badge.append(pill(...judged(line)));
  const words = line.status === "error" || line.status === "trivial" ? "" : `${line.words.length} ${line.words.length === 1 ? "word" : "words"}`;
  made.append(element("td", line.row), badge, label, text(line), element("td", words, { class: "number" }));
  return made;
}

// Green, and the word proved, only for what the checker accepted.
function judged({ status, checked }) {
  const [tone, sign, words] = STATUS[status];
  if (tone !== "good") return [tone, sign, words];
  return checked ? [tone, sign, `${words}, proved`] : ["warn", "◐", `${words}, not checked`];
}

function text(line) {
  const cell = element("td", "", { class: "text", dir: "auto" });
  const link = element("a", "", { href: `/#${coded({ ...question, text: textOf(line), verb: "explain" })}`, title: "Ask about this text alone" });
  link.append(...line.pieces.map(([part, marked]) => (marked ? element("mark", part) : part)));
  cell.append(link);
  if (line.note) cell.append(element("span", line.note, { class: "note" }));
  return cell;
}

// --- the rest ---

function tasks() {
  for (const one of document.querySelectorAll(".protect")) one.hidden = $("task").value !== "bias";
  form.about($("task").value === "bias");
}

function wire() {
  dropping();
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); start(); });
  $("kind").addEventListener("change", () => form.drawSet());
  $("task").addEventListener("change", tasks);
  $("halt").addEventListener("click", halt);
  $("more").addEventListener("click", () => { visible += SHOWN; rows(); });
  for (const id of ["by-status", "by-label", "by-word", "by-where", "by-order"]) $(id).addEventListener("input", () => { visible = SHOWN; rows(); });
}

async function main() {
  wire();
  const told = await about();
  limits = told.limits;
  form.offer(told);
  $("file-facts").append(` At most ${limits.rows.toLocaleString("en")} rows and ${megabytes(limits.upload)}.`);
  for (const name of told.groups) {
    const label = element("label");
    label.append(element("input", "", { type: "checkbox", value: name }), name);
    $("groups").append(label);
  }
  $("version").textContent = `suffice ${told.version}`;
  await reopen();
  document.documentElement.dataset.ready = "yes";
}

// A page that is loaded again shows what was done; it goes on when it is told to.
async function reopen() {
  const { corpus: id, question: before } = decoded(location.hash);
  if (typeof id !== "string") return;
  try {
    question = before ?? {};
    await open(await got(`corpora/${encodeURIComponent(id)}`));
  } catch (error) {
    problem(said(error));
  }
}

main();
