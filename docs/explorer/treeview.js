// The fields as a tree of which only the rows in sight are in the page.

import { el, hex, safe } from "./dom.js";
import { VirtualList } from "./list.js";

const ROW = 22;
const MOST_TEXT = 60;

export class TreeView {
  /** `pick(node)` is called when somebody chooses a field. */
  constructor(element, pick) {
    this.element = element;
    this.pick = pick;
    this.rows = [];
    this.chosen = null;
    this.list = new VirtualList(element, ROW, (row) => this.row(row));
    element.addEventListener("click", (event) => this.clicked(event));
    element.addEventListener("keydown", (event) => this.pressed(event));
  }

  open(root) {
    this.root = root;
    this.chosen = null;
    this.rebuild();
    this.element.scrollTop = 0;
  }

  rebuild() {
    this.rows = [];
    const add = (node, depth) => {
      this.rows.push({ node, depth });
      if (node.open) for (const child of node.children) add(child, depth + 1);
    };
    if (this.root) add(this.root, 0);
    this.list.reset(this.rows.length);
  }

  /** Open all that is above a field, and show it. */
  reveal(node) {
    this.chosen = node;
    let opened = false;
    for (let above = node.parent; above; above = above.parent) {
      opened ||= !above.open;
      above.open = true;
    }
    if (opened) this.rebuild();
    this.list.show(this.rows.findIndex((row) => row.node === node));
  }

  toggle(node, open = !node.open) {
    if (!node.hasChildren || node.open === open) return;
    node.open = open;
    this.rebuild();
  }

  clicked(event) {
    const line = event.target.closest("[data-row]");
    if (!line) return;
    const { node } = this.rows[Number(line.dataset.row)];
    if (event.target.classList.contains("twist")) this.toggle(node);
    else this.choose(node);
  }

  choose(node) {
    this.chosen = node;
    this.list.show(this.rows.findIndex((row) => row.node === node));
    this.pick(node);
  }

  pressed(event) {
    const at = this.rows.findIndex((row) => row.node === this.chosen);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    const node = this.chosen ?? this.root;
    if (step) this.choose(this.rows[Math.max(0, Math.min(this.rows.length - 1, at + step))].node);
    else if (event.key === "ArrowRight" && node.hasChildren) {
      if (node.open) this.choose(node.children[0]);
      else this.toggle(node, true);
    } else if (event.key === "ArrowLeft") {
      if (node.open) this.toggle(node, false);
      else if (node.parent) this.choose(node.parent);
    } else if (event.key === "Enter") this.toggle(node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  row(number) {
    const { node, depth } = this.rows[number];
    const twist = node.hasChildren ? (node.open ? "▾" : "▸") : "";
    return el(
      "div",
      {
        role: "treeitem",
        "data-row": number,
        class: node === this.chosen ? "on" : null,
        style: `padding-left:${0.4 + depth * 0.9}rem`,
        "aria-level": depth + 1,
        "aria-expanded": node.hasChildren ? String(node.open) : null,
        "aria-selected": String(node === this.chosen),
      },
      el("span", { class: "twist" }, twist),
      node.label,
      node.error ? el("span", { class: "error" }, ` ${safe(node.error)}`)
        : el("span", { class: "value" }, valueText(node)),
    );
  }
}

/** What stands behind the name of a field. */
export function valueText(node, most = MOST_TEXT) {
  const { value } = node;
  if (Array.isArray(value)) return `${value.length} items`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "number") {
    const number = Number.isInteger(value) && Math.abs(value) > 9 ? `${hex(value)} (${value})` : `${value}`;
    return node.enumName ? `${node.enumName} ${number}` : number;
  }
  if (typeof value === "string") return JSON.stringify(safe(shortened(value, most)));
  if (typeof value === "boolean") return String(value);
  return safe(shortened(titleOf(value), most));
}

/** What an object is called: the name of a section or symbol, the code of a record. */
function titleOf(value) {
  const name = attempt(() => value.name);
  if (typeof name === "string" && name) return name;
  const code = value?._debug?.code;
  if (!code?.enumName) return "";
  return attempt(() => enumOf(code.enumName)?.[value.code]) ?? "";
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

let enumOf = () => undefined;

/** Where names of values are looked up. */
export function useEnums(find) {
  enumOf = find;
}
