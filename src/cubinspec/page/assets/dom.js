// Elements, and how numbers are written. Texts only ever become text nodes.

/** Make an element: attributes, then children, which are elements or texts. */
function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for pictures. */
function svg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const grouped = new Intl.NumberFormat("en-US");

/** 12345 as 12,345; nothing where the file does not tell. */
function count(value) {
  return value === null || value === undefined ? "" : grouped.format(value);
}

/** Bytes in the unit that people read best. */
function bytes(value) {
  if (value < 10000) return `${count(value)} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let unit = -1;
  let scaled = value;
  do {
    scaled /= 1000;
    unit += 1;
  } while (scaled >= 1000 && unit < units.length - 1);
  return `${scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0)} ${units[unit]}`;
}

/** 0.625 as 62.5 %. */
function percent(part, digits = 0) {
  return `${(100 * part).toFixed(digits)} %`;
}

/** A share as a width for the style sheet. */
function widthOf(part) {
  return `${100 * part}%`;
}

function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** Texts up to this length are not broken. */
const SHORT = 16;

/** A plain table for few rows. Cells are texts, elements or {number: text}. */
function table(head, rows, caption) {
  const cell = (tag, value) =>
    value !== null && typeof value === "object" && "number" in value
      ? el(tag, { class: "number" }, value.number)
      : el(tag, { class: tag === "td" ? ((value?.textContent ?? String(value)).length <= SHORT ? "short" : "name") : null, scope: tag === "th" ? "col" : null }, value ?? "");
  const isNumber = (place) => rows.length > 0 && rows[0][place] !== null
    && typeof rows[0][place] === "object" && "number" in rows[0][place];
  return el("table", {},
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, head.map((word, place) =>
      isNumber(place) ? el("th", { class: "number", scope: "col" }, word) : cell("th", word)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value) => cell("td", value))))));
}

function card(title, ...children) {
  return el("section", { class: "card" }, el("h3", {}, title), ...children);
}

function wideCard(title, ...children) {
  return el("section", { class: "card wide" }, el("h3", {}, title), ...children);
}

function tile(value, text, href) {
  return el(href ? "a" : "div", { class: "tile", href }, el("b", {}, value), el("span", {}, text));
}

/** Names and values side by side; those without a value are left out. */
function facts(pairs) {
  return el("dl", {}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .flatMap(([name, value, help]) => [el("dt", { title: help }, name), el("dd", {}, value)]));
}

function link(text, href) {
  return el("a", { href }, text);
}

/** A colour for the n-th of some things, dark enough for white letters. */
const PALETTE = [
  "#1f5fc9", "#1b7a72", "#9a5b00", "#7048b5", "#a83265", "#4b6b1f", "#0d6f9c", "#8a4a2f",
  "#5a5fb8", "#2f7340", "#86556f", "#5d6673",
];
function colour(number) {
  return PALETTE[number % PALETTE.length];
}
