// What a byte is, in few words: they give the hex view its colours and the coverage bar its parts.

import { FIELD, factsOf } from "./fields.js";

/** Category -> what it is called; the style sheet has a colour for each. */
export const CATEGORIES = {
  header: "headers",
  sections: "section headers",
  strings: "strings",
  symbols: "symbols",
  relocations: "relocations",
  attributes: "attributes",
  notes: "notes and compat",
  calls: "call graph and tables",
  code: "machine code",
  constants: "constants",
  data: "data",
  mercury: "Mercury code",
  debug: "debug data",
  packed: "compressed or PTX",
  padding: "padding",
  unclaimed: "not described",
  host: "host file",
};

/** File of the spec -> category of its fields. */
const OF_SPEC = {
  string_table: "strings",
  string_pool: "strings",
  symbol_table_32: "symbols",
  symbol_table_64: "symbols",
  shndx_table: "symbols",
  rel_table_32: "relocations",
  rel_table_64: "relocations",
  rela_table_32: "relocations",
  rela_table_64: "relocations",
  resolved_rela: "relocations",
  rel_action: "relocations",
  eiattr: "attributes",
  compat: "notes",
  note_nv: "notes",
  callgraph: "calls",
  prototype: "calls",
  uft: "calls",
  uidx: "calls",
  metadata: "calls",
  capmerc: "mercury",
  mercury: "mercury",
  nv_debug: "debug",
  fatbin: "header",
};
/** Kind of opaque body -> category. */
const OF_BODY = {
  SASS: "code",
  DWARF: "debug",
  "constant bank": "constants",
  data: "data",
  PTX: "packed",
  "compressed image": "packed",
  image: "packed",
};
const HEADER_ROWS = new Set(["section_header"]);

/** The category of a leaf: by the kind of an opaque body, else by the type that holds it. */
export function categoryOf(kind, object) {
  const told = factsOf(object);
  if (kind !== FIELD) return OF_BODY[kind] ?? OF_SPEC[told.spec] ?? "data";
  if (HEADER_ROWS.has(told.name)) return "sections";
  return OF_SPEC[told.spec] ?? "header";
}
