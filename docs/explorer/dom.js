// Elements and numbers. Texts of files only ever become text nodes.

/** Make an element: attributes, listeners by "on…", then children, which are elements or texts. */
export function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const grouped = new Intl.NumberFormat("en-US");

/** 12345 as 12,345; a hyphen for what is not known. */
export const count = (value) => (value === undefined || value === null ? "-" : grouped.format(value));

/** A number as 0x1f0. */
export const hex = (value, digits = 1) => `0x${value.toString(16).padStart(digits, "0")}`;

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text of a file without characters that would change how a line reads. */
export const safe = (text) =>
  text.replace(HIDDEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
