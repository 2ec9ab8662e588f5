// The explanation of a field, of an image and of a whole file, from the texts of the spec.

import knowledge from "./knowledge.json";
import { CATEGORIES } from "./categories.js";
import { el, count, hex, safe } from "./dom.js";
import { factsOf, isStruct } from "./fields.js";
import { valueText } from "./treeview.js";

const MOST_TEXT = 400;

/** Everything about a field, as elements. */
export function aboutNode(node, file, offset) {
  const rows = [];
  if (node.start !== undefined && node.end > node.start)
    rows.push(["bytes", `${hex(node.start)} to ${hex(node.end - 1)}, ${count(node.end - node.start)}`]);
  if (offset !== undefined && offset !== node.start) rows.push(["byte", hex(offset)]);
  const value = valueText(node, MOST_TEXT);
  if (value) rows.push(["value", value]);
  const span = file.spans && node.start !== undefined && file.spans.names[file.spans.at(node.start)];
  if (span) rows.push(["is", CATEGORIES[span.category] + (span.kind && span.kind !== "field" ? ` (${span.kind})` : "")]);
  const parts = [el("h2", null, safe(node.path)), pairs(rows)];
  if (node.error) parts.push(el("p", { class: "bad" }, safe(node.error)));
  parts.push(...told(node), ...named(node), ...section(node));
  return parts;
}

function told(node) {
  const parts = [];
  if (node.told) {
    const [name, page, doc] = node.told;
    parts.push(text(name, doc, page));
  }
  if (isStruct(node.value)) {
    const facts = factsOf(node.value);
    if (facts.name) parts.push(text(facts.name, facts.doc, facts.page));
  }
  return parts;
}

/** What the tables say of the value, or of the code of the record around it. */
function named(node) {
  const names = new Set([node.enumName]);
  for (let above = node; above; above = above.parent) {
    const inner = isStruct(above.value) && above.children.find((child) => child.label === "code");
    if (inner?.enumName) names.add(inner.enumName);
    if (above.label.startsWith("[")) break;
  }
  return [...names].filter((name) => name && knowledge.words[name])
    .map((name) => text(name, ...knowledge.words[name]));
}

/** What the section around a field is, by its name. */
function section(node) {
  for (let above = node; above; above = above.parent) {
    const name = factsOf(above.value ?? {}).name === "section" ? above.value.name : undefined;
    if (name === undefined) continue;
    const found = knowledge.patterns.filter(([pattern]) => fits(name, pattern))
      .sort((a, b) => b[0].length - a[0].length)[0];
    return found ? [text(`section ${safe(name)}`, found[1], found[2])] : [];
  }
  return [];
}

function fits(name, pattern) {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The whole file: size, what its bytes are, faults. */
export function aboutFile(file) {
  const rows = [["size", `${count(file.bytes.length)} bytes`]];
  if (file.format) rows.push(["format", file.format]);
  if (file.arch) rows.push(["target", file.arch]);
  if (file.root) rows.push(["sections", count(file.root.sections.length)]);
  if (file.root) rows.push(["kernels", count(file.kernels.length)]);
  if (file.images.length) rows.push(["images", count(file.images.length)]);
  if (file.totals) {
    rows.push(["named fields", count(file.totals.named)]);
    for (const [kind, size] of Object.entries(file.totals.opaque)) rows.push([kind, count(size)]);
    rows.push(["padding", count(file.totals.padding)], ["not described", count(file.totals.unclaimed)]);
  }
  const faults = file.faults.map((fault) => el("p", { class: "bad" }, safe(fault)));
  return [el("h2", null, safe(file.name)), pairs(rows), ...faults, legend(file)];
}

function legend(file) {
  const used = new Set(file.spans?.names.map((name) => name.category));
  return el("ul", { class: "legend" }, Object.entries(CATEGORIES)
    .filter(([category]) => used.has(category))
    .map(([category, title]) =>
      el("li", null, el("i", { style: `background:var(--${category})` }), title)));
}

function text(title, doc, page) {
  const link = page && el("a", { href: `../${page}`, target: "_blank" }, "in the docs");
  return el("div", { class: "told" }, el("strong", null, safe(title)), doc ? `: ${doc} ` : " ", link);
}

function pairs(rows) {
  return el("dl", null, rows.flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}
