// What a file is around its device code: ELF, PE, COFF, Mach-O or an archive, and its sections.
// Numbers are those of these formats. What a broken header names is cut to the file.

import { classes } from "./fields.js";

const ARCHIVE = "!<arch>\n";
const PE_MAGIC = 0x00004550;
const X86_64 = 0x8664;
/** First words of Mach-O files, 32 and 64 bits wide; the third holds files for several machines. */
const MACHO = new Set([0xfeedface, 0xfeedfacf]);
const UNIVERSAL = 0xbebafeca;
/** Files that one universal file may hold; a Java class starts with the same word. */
const MOST_PARTS = 30;
/** Load commands of Mach-O that hold sections. */
const SEGMENTS = { 0x01: { head: 56, row: 68, wide: false }, 0x19: { head: 72, row: 80, wide: true } };

/** Numbers and texts of a part of a file; beyond its end there are zeros. */
class Part {
  constructor(bytes, start = 0, end = bytes.length) {
    this.bytes = bytes.subarray(start, end);
    this.start = start;
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);
  }

  has(at, size) {
    return Number.isSafeInteger(at) && at >= 0 && at + size <= this.bytes.length;
  }

  u16(at) { return this.has(at, 2) ? this.view.getUint16(at, true) : 0; }

  u32(at) { return this.has(at, 4) ? this.view.getUint32(at, true) : 0; }

  big32(at) { return this.has(at, 4) ? this.view.getUint32(at, false) : 0; }

  u64(at) { return this.has(at, 8) ? Number(this.view.getBigUint64(at, true)) : 0; }

  /** A text of at most so many bytes, up to a zero. */
  text(at, most) {
    if (!this.has(at, 1)) return "";
    const run = this.bytes.subarray(at, at + most);
    const zero = run.indexOf(0);
    return new TextDecoder().decode(zero < 0 ? run : run.subarray(0, zero));
  }

  /** How many rows of a table there is room for. */
  rows(at, row, count) {
    return this.has(at, 0) ? Math.min(count, Math.floor((this.bytes.length - at) / row)) : 0;
  }

  /** A section by its place in this part; nothing for one without bytes. */
  section(name, at, size) {
    if (!(size > 0) || !this.has(at, 1)) return [];
    const start = this.start + at;
    return [{ name, start, end: Math.min(start + size, this.start + this.bytes.length) }];
  }
}

const MOST_NAME = 256;

function elf(part) {
  const wide = part.bytes[4] === 2;
  const table = wide ? part.u64(40) : part.u32(32);
  const row = wide ? 64 : 40;
  const place = (at) => (wide
    ? [part.u64(at + 24), part.u64(at + 32)] : [part.u32(at + 16), part.u32(at + 20)]);
  const [names] = place(table + row * part.u16(wide ? 62 : 50));
  const found = [];
  const count = part.rows(table, row, table ? part.u16(wide ? 60 : 48) : 0);
  for (let number = 1; number < count; number++) {
    const at = table + number * row;
    if (part.u32(at + 4) === classes.CudaCodes.SectionType.SHT_NOBITS) continue;
    found.push(...part.section(part.text(names + part.u32(at), MOST_NAME), ...place(at)));
  }
  return { format: "ELF", sections: found };
}

/** PE and COFF: the same table behind the same header. */
function coffSections(part, head, nameOf) {
  const table = head + 20 + part.u16(head + 16);
  const found = [];
  for (let number = 0; number < part.rows(table, 40, part.u16(head + 2)); number++) {
    const at = table + number * 40;
    found.push(...part.section(nameOf(at), part.u32(at + 20), part.u32(at + 16)));
  }
  return found;
}

function pe(part) {
  return { format: "PE", sections: coffSections(part, part.u32(0x3c) + 4, (at) => part.text(at, 8)) };
}

/** An object of Windows; names that do not fit stand behind the symbols. */
function coff(part) {
  const strings = part.u32(8) + 18 * part.u32(12);
  const name = (at) => {
    const short = part.text(at, 8);
    return /^\/\d+$/.test(short) ? part.text(strings + Number(short.slice(1)), MOST_NAME) : short;
  };
  return { format: "COFF", sections: coffSections(part, 0, name) };
}

function macho(part) {
  const found = [];
  let at = part.u32(0) === 0xfeedfacf ? 32 : 28;
  for (let left = part.u32(16); left > 0 && part.has(at, 8); left--) {
    const kind = SEGMENTS[part.u32(at)];
    const size = part.u32(at + 4);
    // a segment ends with its command, whatever number of sections it tells
    const rows = kind ? Math.min(part.u32(at + kind.head - 8), (size - kind.head) / kind.row) : 0;
    for (let row = 0; row < rows && part.has(at + kind.head + row * kind.row, kind.row); row++) {
      const here = at + kind.head + row * kind.row;
      const [length, place] = kind.wide
        ? [part.u64(here + 40), part.u32(here + 48)] : [part.u32(here + 36), part.u32(here + 40)];
      found.push(...part.section(`${part.text(here + 16, 16)},${part.text(here, 16)}`, place, length));
    }
    if (size < 8) break;
    at += size;
  }
  return { format: "Mach-O", sections: found };
}

function universal(part) {
  const found = [];
  for (let number = 0; number < part.big32(4); number++) {
    const at = 8 + 20 * number;
    const start = part.big32(at + 8);
    if (part.has(start, 1)) found.push(...inner(part, start, start + part.big32(at + 12)).sections);
  }
  return { format: "universal Mach-O", sections: found };
}

/** Members of a static library, each with its sections. */
function archive(part) {
  const found = [];
  let names = "";
  for (let at = ARCHIVE.length; part.has(at, 60);) {
    const label = part.text(at, 16).trimEnd();
    const size = Number.parseInt(part.text(at + 48, 10), 10);
    const start = at + 60;
    if (!(size >= 0)) break;
    const far = /^\/(\d+)$/.exec(label);
    const name = far ? names.slice(Number(far[1])).split("/\n")[0].split("\n")[0] : label.replace(/\/$/, "");
    if (label === "//") names = part.text(start, size);
    else if (name) {
      const member = inner(part, start, start + size).sections;
      const whole = part.section("", start, size);
      found.push(...(member.length ? member : whole).map((each) =>
        ({ ...each, name: each.name ? `${name}: ${each.name}` : name })));
    }
    at = start + size + (size & 1);
  }
  return { format: "archive", sections: found };
}

/** A file in a file; none of those that hold others. */
function inner(part, start, end) {
  return read(new Part(part.bytes, start, end), part.start, false);
}

function read(part, base = 0, holds = true) {
  part.start += base;
  const first = part.u32(0);
  if (first === 0x464c457f && part.bytes[5] === 1) return elf(part);
  if (part.u16(0) === 0x5a4d && part.u32(part.u32(0x3c)) === PE_MAGIC) return pe(part);
  if (MACHO.has(first)) return macho(part);
  if (holds && first === UNIVERSAL && part.big32(4) < MOST_PARTS) return universal(part);
  if (holds && part.text(0, 8) === ARCHIVE) return archive(part);
  if (part.u16(0) === X86_64 && part.u16(2) > 0 && part.u16(16) === 0) return coff(part);
  return { format: "", sections: [] };
}

/** Format of a file, empty when it is none of these, and its sections by their place. */
export function hostOf(bytes) {
  const { format, sections } = read(new Part(bytes));
  return { format, sections: sections.sort((a, b) => a.start - b.start) };
}

/** Name of the section that holds a byte. */
export function sectionAt({ sections }, at) {
  let low = 0;
  let high = sections.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sections[middle].start <= at) low = middle + 1;
    else high = middle;
  }
  const last = sections[low - 1];
  return last && at < last.end ? last.name : "";
}
