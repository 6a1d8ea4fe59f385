// The form that all views share: model and its card, what a free word may become, limits. It knows nothing of answers.

import { $, element } from "./draw.js";
import { card, Refused } from "./stream.js";
import { rendered } from "./card.js";

const START = { "knn-box": { k: 60 }, "knn-hull": { k: 120 }, "epsilon-ball": { eps: 0.5 } }; // where there is nothing better
const NAMES = { k: "Nearest words", eps: "Distance ε", p: "Norm", token: "Mask", swaps: "Listed words, one line each" };

let sets = []; // what the server offers, from the table of sets
export let models = [];

export function offer(told) {
  ({ sets, models } = told);
  for (const one of sets) $("kind").append(element("option", one.may, { value: one.kind }));
  $("kind").value = told.default.kind;
  if ($("model")) offerModels();
  drawSet();
}

// Of protected words the default set removes none: what it is called depends on what is asked.
export function about(protectedWords) {
  const usual = sets.find((one) => one.kind === "bundled-substitutes");
  const option = $("kind").querySelector("[value=bundled-substitutes]");
  if (usual && option) option.textContent = protectedWords ? "become a counterpart or be substituted" : usual.may;
}

export const titled = (name) => models.find((one) => one.name === name)?.title ?? name;

function offerModels() {
  for (const model of models) $("model").append(element("option", model.title, { value: model.name }));
  $("model").addEventListener("change", modelChosen);
  $("card").addEventListener("toggle", openCard);
  modelChosen();
}

export function modelChosen() {
  const model = models.find((one) => one.name === $("model").value);
  $("model-facts").textContent = model?.facts ?? "";
  $("card").open = false;
  $("card-text").replaceChildren();
}

async function openCard() {
  const name = $("model").value;
  if (!$("card").open || $("card-text").childElementCount) return;
  const text = await card(name);
  if (name === $("model").value) $("card-text").replaceChildren(...rendered(text));
}

// --- the set ---

const setFields = () => [...document.querySelectorAll("[data-name]")];
export const setValues = () => Object.fromEntries(setFields().map((field) => [field.dataset.name, field.value]));
const byKind = (kind) => sets.find((one) => one.kind === kind) ?? sets[0];

export function drawSet(values = {}) {
  const { kind, fields } = byKind($("kind").value);
  const made = Object.entries(fields).map(([name, schema]) => field(name, NAMES[name] ?? name, schema, values[name] ?? START[kind]?.[name]));
  $("fields").replaceChildren(...made.filter((one) => !one.querySelector("textarea")));
  $("long-fields").replaceChildren(...made.filter((one) => one.querySelector("textarea")));
}

function field(name, title, schema, value) {
  const label = element("label", `${title} `);
  const number = schema.type === "integer" || schema.type === "number";
  const input = schema.enum ? options(schema.enum) : element(schema.type === "object" ? "textarea" : "input");
  input.dataset.name = name;
  input.id = `set-${name}`;
  if (schema.type === "object") Object.assign(input, { rows: 3, spellcheck: false, placeholder: "good: bad, fine, great" });
  if (number) Object.assign(input, { type: "number", min: schema.minimum ?? "", step: schema.type === "integer" ? 1 : "any" });
  input.value = value ?? schema.default ?? (number ? 1 : "");
  label.append(input);
  return label;
}

function options(values) {
  const made = element("select");
  made.append(...values.map((value) => element("option", value, { value })));
  return made;
}

// The set as the server takes it.
export function perturbation(kind, values, atMost) {
  const { fields } = byKind(kind);
  const given = Object.entries(fields).map(([name, schema]) => [name, read(values[name], schema)]).filter(([, one]) => one !== null);
  return { kind, ...Object.fromEntries(given), ...(atMost ? { at_most: Number(atMost) } : {}) };
}

function read(text, schema) {
  if (schema.enum) return schema.enum.find((one) => String(one) === text);
  if (schema.type === "object") return swaps(text);
  if (schema.type === "integer" || schema.type === "number") return text === "" ? null : Number(text);
  return text.trim() || null;
}

function swaps(lines) {
  const pairs = lines.split("\n").filter((line) => line.trim()).map((line) => line.split(":"));
  const wrong = pairs.find((pair) => pair.length !== 2 || !pair[0].trim() || !pair[1].trim());
  if (wrong) throw new Refused(`“${wrong.join(":")}” is not a line of listed words: write a word, a colon, and words with commas between.`);
  return Object.fromEntries(pairs.map(([word, others]) => [word.trim(), others.split(",").map((other) => other.trim()).filter(Boolean)]));
}

// The sizes at which growth is asked: of the set's own size, else of how many words change at once.
export function sizes(kind, values) {
  const { grows } = byKind(kind);
  if (grows === "eps") return [0.25, 0.5, 1, 2, 4].map((times) => times * Number(values.eps));
  if (grows) return [...new Set([5, 15, 40, 100, Number(values[grows])])].sort((a, b) => a - b);
  return [1, 2, 3, 4, 6];
}
