// A list of which only the rows in sight are in the page.

/** A list may not be taller than browsers can lay out; beyond this, scrolling is scaled. */
const MOST_PIXELS = 8_000_000;
const BEYOND = 6;

export class VirtualList {
  /**
   * element   scrolls; its rows have `rowHeight` pixels
   * render    row number -> element
   */
  constructor(element, rowHeight, render) {
    this.element = element;
    this.rowHeight = rowHeight;
    this.render = render;
    this.count = 0;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.rows = document.createElement("div");
    this.rows.className = "rows";
    this.space.append(this.rows);
    element.replaceChildren(this.space);
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  get visible() {
    return Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight));
  }

  get height() {
    return Math.min(this.count * this.rowHeight, MOST_PIXELS);
  }

  get first() {
    const whole = this.count * this.rowHeight;
    if (whole <= MOST_PIXELS) return Math.floor(this.element.scrollTop / this.rowHeight);
    const part = this.element.scrollTop / Math.max(1, this.height - this.element.clientHeight);
    return Math.round(Math.min(1, part) * Math.max(0, this.count - this.visible));
  }

  /** The list has other rows now. */
  reset(count) {
    this.count = count;
    this.space.style.height = `${this.height}px`;
    this.draw();
  }

  draw() {
    const scaled = this.count * this.rowHeight > MOST_PIXELS;
    const first = this.first;
    const from = Math.max(0, scaled ? first : first - BEYOND);
    const to = Math.min(this.count, first + this.visible + BEYOND + 1);
    const rows = [];
    for (let row = from; row < to; row += 1) rows.push(this.render(row));
    const top = scaled ? this.element.scrollTop : from * this.rowHeight;
    this.rows.style.transform = `translateY(${top}px)`;
    this.rows.replaceChildren(...rows);
  }

  /** Scroll so that a row is in sight. */
  show(row) {
    const first = this.first;
    if (row >= first && row < first + this.visible) return this.draw();
    const wanted = Math.max(0, row - Math.floor(this.visible / 3));
    const whole = this.count * this.rowHeight;
    this.element.scrollTop = whole <= MOST_PIXELS
      ? wanted * this.rowHeight
      : (wanted / Math.max(1, this.count - this.visible)) * (this.height - this.element.clientHeight);
    return this.draw();
  }
}
