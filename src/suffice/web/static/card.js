// A model's card: as much of Markdown as cards use, made of elements, so that nothing in it can be markup.

import { element } from "./draw.js";

export function rendered(text) {
  const made = [];
  const blocks = text.replaceAll("\r", "").split(/\n{2,}/);
  for (let i = 0; i < blocks.length; i += 1) {
    let block = blocks[i];
    while (block.startsWith("```") && !/\n```\s*$/.test(block) && i + 1 < blocks.length) block += `\n\n${blocks[(i += 1)]}`;
    if (block.trim()) made.push(one(block.trim()));
  }
  return made;
}

function one(block) {
  const lines = block.split("\n");
  if (block.startsWith("```")) return element("pre", lines.slice(1).filter((line) => !line.startsWith("```")).join("\n"));
  if (block.startsWith("#") && lines.length === 1) return heading(block);
  if (block.startsWith("- ")) return filled("ul", block.slice(2).split(/\n- /).map((item) => said("li", item)));
  if (block.startsWith("|")) return tabled(lines);
  return said("p", block);
}

const heading = (block) => element(block.startsWith("# ") ? "h2" : "h3", block.replace(/^#+ /, ""));

function tabled(lines) {
  const cells = lines.filter((line) => !/^[|\s:-]+$/.test(line)).map((line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()));
  const rows = cells.map((row, place) => filled("tr", row.map((cell) => said(place ? "td" : "th", cell))));
  return filled("div", [filled("table", rows)], { class: "scroll" });
}

// Words, with `code` between backticks.
function said(tag, text) {
  const parts = text.replaceAll("\n", " ").split("`");
  return filled(tag, parts.map((part, place) => (place % 2 ? element("code", part) : part)));
}

function filled(tag, parts, attributes = {}) {
  const made = element(tag, "", attributes);
  made.append(...parts);
  return made;
}
