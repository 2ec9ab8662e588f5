// The bytes: a virtual list of rows, each byte in the colour of what it is.

import { el, hex } from "./dom.js";
import { VirtualList } from "./list.js";

const NARROW = 640;
const ROW = 20;

export class HexView {
  /** `pick(offset)` is called when somebody points at a byte. */
  constructor(element, pick) {
    this.element = element;
    this.width = window.innerWidth < NARROW ? 8 : 16;
    this.list = new VirtualList(element, ROW, (row) => this.row(row));
    this.cursor = 0;
    this.from = 0;
    this.to = 0;
    element.addEventListener("click", (event) => {
      const at = event.target.dataset?.at;
      if (at !== undefined) pick(Number(at));
    });
  }

  open(file) {
    this.file = file;
    this.digits = Math.max(4, file.bytes.length.toString(16).length);
    const row = this.digits + 1 + this.width * 3.7 + 3;
    this.element.style.width = `calc(${row}ch + 3rem)`;
    this.element.style.maxWidth = "100vw";
    this.cursor = this.from = this.to = 0;
    this.element.scrollTop = 0;
    this.list.reset(Math.ceil(file.bytes.length / this.width));
  }

  /** Mark some bytes, and one of them as the place where keys go on. */
  select(from, to, cursor = from) {
    this.from = from;
    this.to = to;
    this.cursor = cursor;
    this.list.show(Math.floor(cursor / this.width));
  }

  draw() {
    this.list.draw();
  }

  row(number) {
    const { bytes, spans } = this.file;
    const start = number * this.width;
    const end = Math.min(bytes.length, start + this.width);
    const numbers = el("span", { class: "bytes" });
    const text = el("span", { class: "text" });
    let span = spans?.at(start);
    for (let at = start; at < end; at += 1) {
      let style = "";
      let first = false;
      if (spans) {
        while (spans.end(span) <= at) span += 1;
        style = `background:var(--${spans.names[span].category})`;
        first = spans.starts[span] === at;
      }
      const marks = [first && "first", at >= this.from && at < this.to && "sel",
        at === this.cursor && "cursor"].filter(Boolean).join(" ");
      const byte = bytes[at];
      const told = { class: marks || null, style: style || null, "data-at": at };
      numbers.append(el("b", told, byte.toString(16).padStart(2, "0")));
      text.append(el("b", told, byte > 32 && byte < 127 ? String.fromCharCode(byte) : "·"));
    }
    const missing = this.width - (end - start);
    if (missing) numbers.append(el("span", { style: `padding-left:${missing * 2.6}ch` }));
    const offset = el("span", { class: "offset" }, hex(start, this.digits).slice(2));
    return el("div", { "data-row": number }, offset, numbers, text);
  }
}
