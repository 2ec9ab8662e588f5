// Which part of a file each byte belongs to: the same rules as `cubinspec coverage`.

import { FIELD, PADDING, UNCLAIMED } from "./fields.js";

/** Claims of bytes, in columns that grow. */
export class Claims {
  constructor() {
    this.count = 0;
    this.starts = new Float64Array(4096);
    this.ends = new Float64Array(4096);
    this.classes = new Uint16Array(4096);
    this.units = new Int32Array(4096);
    this.names = [];
    this.numbers = new Map();
  }

  /** Note that bytes are of a class, see `number`; `unit` is the part of the file that claims them. */
  add(start, end, number, unit) {
    if (this.count === this.starts.length) this.grow();
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.classes[this.count] = number;
    this.units[this.count] = unit;
    this.count += 1;
  }

  /** The number of the class of a kind and a category. */
  number(kind, category) {
    const key = `${kind}\n${category}`;
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.names.length;
      this.names.push({ kind, category });
      this.numbers.set(key, number);
    }
    return number;
  }

  grow() {
    for (const column of ["starts", "ends", "classes", "units"]) {
      const larger = new this[column].constructor(this[column].length * 2);
      larger.set(this[column]);
      this[column] = larger;
    }
  }

  /** Row numbers of the claims that pass, by place. */
  ordered(passes) {
    const { starts, ends, classes, count } = this;
    const wanted = this.names.map(({ kind }) => passes(kind));
    const keys = new Float64Array(count);
    let found = 0;
    for (let row = 0; row < count; row += 1) {
      if (!wanted[classes[row]]) continue;
      // place and row in one number, as numbers are sorted many times faster than by a function
      keys[found] = starts[row] * count + row;
      found += 1;
    }
    const rows = Array.from(keys.subarray(0, found).sort(), (key) => key % count);
    for (let place = 1; place < found; place += 1) {
      const row = rows[place];
      let at = place;
      for (; at > 0 && starts[rows[at - 1]] === starts[row] && ends[rows[at - 1]] > ends[row]; at -= 1)
        rows[at] = rows[at - 1];
      rows[at] = row;
    }
    return rows;
  }
}

/** Spans in order that cover the file without overlap. */
export class Spans {
  constructor(size) {
    this.size = size;
    this.starts = [];
    this.names = [];
    this.units = [];
  }

  /** A span begins; `unit` is the part of the file that claims it, -1 for none. */
  push(start, name, unit = -1) {
    this.starts.push(start);
    this.names.push(name);
    this.units.push(unit);
  }

  /** Number of the span that holds a byte. */
  at(offset) {
    let low = 0;
    let high = this.starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle;
    }
    return low;
  }

  end(number) {
    return this.starts[number + 1] ?? this.size;
  }
}

/** Give every byte to one claim: a field before a body, the first claim before later ones. */
export function attribute(bytes, claims, rest = "unclaimed") {
  const size = bytes.length;
  const spans = new Spans(size);
  const bodies = disjoint(size, claims, claims.ordered((kind) => kind !== FIELD));
  const between = (from, to) => {
    let at = from;
    while (at < to) {
      const body = bodies.reaching(at);
      const start = Math.max(at, Math.min(body.start, to));
      if (start > at) nobody(bytes, spans, at, start, rest);
      at = Math.min(body.end, to);
      if (at > start) owned(bytes, spans, start, at, body, rest);
      if (start >= to) break;
    }
  };
  const fields = disjoint(size, claims, claims.ordered((kind) => kind === FIELD));
  let at = 0;
  for (let field = fields.next(); field.start < size; field = fields.next()) {
    between(at, field.start);
    spans.push(field.start, field.name, field.unit);
    at = field.end;
  }
  between(at, size);
  return spans;
}

function owned(bytes, spans, start, end, { name, unit }, rest) {
  if (name.kind === UNCLAIMED || name.kind === PADDING) nobody(bytes, spans, start, end, rest);
  else spans.push(start, name, unit);
}

function nobody(bytes, spans, start, end, rest) {
  let empty = true;
  for (let at = start; at < end && empty; at += 1) empty = bytes[at] === 0;
  const unclaimed = { kind: UNCLAIMED, category: rest };
  spans.push(start, empty ? { kind: PADDING, category: "padding" } : unclaimed);
}

/** Claims one after the other, each without what earlier ones have. */
function disjoint(size, claims, rows) {
  const nobodyElse = { start: size, end: size, unit: -1, name: { kind: UNCLAIMED, category: "unclaimed" } };
  let place = 0;
  let at = 0;
  let last = null;
  const next = () => {
    while (place < rows.length) {
      const row = rows[place];
      place += 1;
      const start = Math.max(claims.starts[row], at);
      const end = Math.min(claims.ends[row], size);
      if (end > start) {
        at = end;
        const name = claims.names[claims.classes[row]];
        return { start, end, name, unit: claims.units[row] };
      }
    }
    return nobodyElse;
  };
  return {
    next,
    /** The first claim that ends behind a byte. */
    reaching(offset) {
      last ??= next();
      while (last.end <= offset && last !== nobodyElse) last = next();
      return last;
    },
  };
}

/** Bytes by class; they sum to the size of the file. */
export function totals(spans) {
  const found = { size: spans.size, named: 0, opaque: {}, padding: 0, unclaimed: 0 };
  spans.starts.forEach((start, number) => {
    const { kind } = spans.names[number];
    const size = spans.end(number) - start;
    if (kind === FIELD) found.named += size;
    else if (kind === PADDING) found.padding += size;
    else if (kind === UNCLAIMED) found.unclaimed += size;
    else found.opaque[kind] = (found.opaque[kind] ?? 0) + size;
  });
  return found;
}
