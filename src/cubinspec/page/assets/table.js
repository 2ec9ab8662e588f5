// A table of any number of rows, of which only those in sight are in the page.

const ROW = 30;
const AROUND = 8;

/**
 * A sortable table.
 * columns: {title, width, value(row), text(row), cell(row), number, help}; rows: numbers of rows;
 * open(row): called for a click or the Enter key; sort: [column, isDescending].
 */
class Table {
  constructor({ label, columns, rows, open, sort, href, scroll }) {
    Object.assign(this, { columns, open, href });
    this.id = `t${(Table.made += 1)}`;
    this.rows = rows;
    this.active = 0;
    this.sorted = null;
    this.shown = new Map();
    this.head = el("div", { class: "head", role: "row", "aria-rowindex": 1 });
    this.body = el("div", { class: "body", role: "rowgroup" });
    this.element = el("div", {
      class: "grid", role: "grid", tabindex: 0, "aria-label": label,
      "aria-colcount": columns.length, onkeydown: (event) => this.key(event),
      onscroll: () => this.draw(), onclick: (event) => this.click(event),
    }, el("div", { role: "rowgroup", style: { display: "contents" } }, this.head), this.body);
    this.template = columns.map((column) => column.width).join(" ");
    // long names must not widen a row
    const least = columns.reduce((sum, column) => sum + Number(/\d+(?=px)/.exec(column.width)[0]), 0);
    this.least = `${least}px`;
    this.head.style.gridTemplateColumns = this.template;
    this.head.style.minWidth = this.least;
    columns.forEach((column, place) => this.head.append(el("div", {
      role: "columnheader", class: column.number ? "number" : null, "aria-sort": "none",
    }, el("button", {
      type: "button", title: column.help, tabindex: -1, onclick: () => this.sort(place),
    }, column.title))));
    new ResizeObserver(() => this.draw()).observe(this.element);
    if (sort) this.sort(...sort);
    else this.show(rows);
    if (scroll) this.element.scrollTop = scroll;
  }

  /** Show other rows, in the order of the column that is sorted by. */
  show(rows) {
    this.rows = rows;
    if (this.sorted) this.order();
    this.active = 0;
    this.element.scrollTop = 0;
    this.refresh();
  }

  sort(place, descending) {
    const again = this.sorted && this.sorted[0] === place;
    const down = descending ?? (again ? !this.sorted[1] : Boolean(this.columns[place].number));
    this.sorted = [place, down];
    [...this.head.children].forEach((cell, at) =>
      cell.setAttribute("aria-sort", at !== place ? "none" : down ? "descending" : "ascending"));
    this.order();
    this.active = 0;
    this.element.scrollTop = 0;
    this.refresh();
  }

  order() {
    const [place, down] = this.sorted;
    const { value } = this.columns[place];
    const keys = new Map(this.rows.map((row) => [row, value(row)]));
    const side = down ? -1 : 1;
    this.rows = [...this.rows].sort((a, b) => {
      const x = keys.get(a);
      const y = keys.get(b);
      // what is not known stands last, whatever the direction
      if (x === null || x === undefined) return y === null || y === undefined ? a - b : 1;
      if (y === null || y === undefined) return -1;
      return (x < y ? -side : x > y ? side : 0) || a - b;
    });
  }

  refresh() {
    const { length } = this.rows;
    this.shown.clear();
    this.body.replaceChildren(...(length ? [] : [el("div", { class: "empty", role: "row" },
      el("div", { role: "gridcell" }, "Nothing fits."))]));
    this.element.setAttribute("aria-rowcount", length + 1);
    this.element.classList.toggle("short", length <= 14);
    this.body.style.height = length ? `${length * ROW}px` : "";
    this.body.style.minWidth = this.least;
    this.draw();
  }

  /** Put the rows in sight into the page, and take the others out. */
  draw() {
    const { length } = this.rows;
    const top = this.element.scrollTop;
    const height = this.element.clientHeight || 600;
    const first = Math.max(0, Math.floor(top / ROW) - AROUND);
    const last = Math.min(length, Math.ceil((top + height) / ROW) + AROUND);
    for (const [place, line] of this.shown) {
      if (place < first || place >= last) {
        line.remove();
        this.shown.delete(place);
      }
    }
    for (let place = first; place < last; place += 1) {
      if (!this.shown.has(place)) {
        const line = this.line(place);
        this.shown.set(place, line);
        this.body.append(line);
      }
    }
    this.mark();
  }

  line(place) {
    const row = this.rows[place];
    const line = el("div", {
      class: "line", role: "row", id: `${this.id}-${place}`, "aria-rowindex": place + 2,
      style: { top: `${place * ROW}px`, gridTemplateColumns: this.template },
    });
    line.dataset.place = place;
    this.columns.forEach((column, at) => {
      const content = column.cell ? column.cell(row) : column.text(row);
      const inner = at === 0 && this.href
        ? el("a", { href: this.href(row), tabindex: -1 }, content) : content;
      line.append(el("div", {
        role: "gridcell", class: column.number ? "cell number" : "cell",
        title: column.number ? null : column.text(row),
      }, inner));
    });
    return line;
  }

  mark() {
    for (const [place, line] of this.shown) {
      line.setAttribute("aria-selected", place === this.active);
    }
    const isShown = this.shown.has(this.active);
    if (isShown) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  click(event) {
    const line = event.target.closest(".line");
    if (!line || event.ctrlKey || event.metaKey || event.shiftKey) return;
    this.active = Number(line.dataset.place);
    this.mark();
    if (this.open) {
      event.preventDefault();
      this.open(this.rows[this.active]);
    }
  }

  key(event) {
    if (event.target !== this.element || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const moves = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
      PageUp: this.active - page, Home: 0, End: this.rows.length - 1,
    };
    if (event.key === "Enter" && this.open && this.rows.length) {
      this.open(this.rows[this.active]);
    } else if (event.key in moves) {
      this.active = Math.max(0, Math.min(this.rows.length - 1, moves[event.key]));
      const top = this.active * ROW;
      const room = this.element.clientHeight - this.head.offsetHeight - ROW;
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
      this.draw();
    } else {
      return;
    }
    event.preventDefault();
  }
}
Table.made = 0;
