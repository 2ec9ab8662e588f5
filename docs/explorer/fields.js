// The fields of the generated classes: what each is, where it lies, and what lies below it.
// The debug classes of the Kaitai Struct compiler note the place of each field when they read it.

import KaitaiStream from "kaitai-struct/KaitaiStream";
import classes from "./spec/index.js";
import knowledge from "./knowledge.json";

/** Kind of a field that the spec resolves; other kinds are those of opaque bodies. */
export const FIELD = "field";
/** Kind of zeros between structures. */
export const PADDING = "padding";
/** Kind of bytes that nothing in the spec describes. */
export const UNCLAIMED = "";
/** What the spec writes for that. */
const UNCLAIMED_IN_SPEC = "unclaimed";

const NOTHING = { fields: {}, own: [], spec: "", name: "", page: "", doc: "" };
/** Class -> what the spec says of it. */
const facts = new Map();
collect(classes, "");

function collect(holder, path) {
  for (const [name, value] of Object.entries(holder)) {
    if (typeof value !== "function" || !value.prototype?._read) continue;
    const whole = path ? `${path}.${name}` : name;
    // an imported class stands in the class that imports it, too
    if (!facts.has(value)) facts.set(value, knowledge.types[whole] ?? NOTHING);
    collect(value, whole);
  }
}

/** What the spec says of an object's class. */
export function factsOf(object) {
  return facts.get(object.constructor) ?? NOTHING;
}

/** Read bytes as a class of the spec; `kind` is its name, such as "ElfCuda". */
export function parse(kind, bytes) {
  const whole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  const root = new classes[kind](new KaitaiStream((whole ? bytes : bytes.slice()).buffer));
  root._read();
  return root;
}

/** The classes, for their enums and for types that are read alone. */
export { classes, KaitaiStream };

/** True for an object that has fields. */
export function isStruct(value) {
  return value !== null && typeof value === "object" && value._debug !== undefined;
}

/** The fields that own bytes, in the order of the spec. */
export function ownFields(object) {
  return factsOf(object).own;
}

/** The place of a field; instances are read by this. Undefined when it has none. */
export function placeOf(object, field) {
  return object._debug[field] ?? object._debug[`_m_${field}`];
}

/** Absolute first byte of a place. */
export const startOf = (place) => place.ioOffset + place.start;
/** Absolute end of a place. */
export const endOf = (place) => place.ioOffset + place.end;

/** Call `claim(start, end, kind, object)` for each leaf below an object. */
export function leaves(object, claim) {
  const told = factsOf(object);
  for (const field of told.own) fieldLeaves(object, field, told, claim);
}

function fieldLeaves(object, field, told, claim) {
  const value = object[field];
  if (value === undefined || value === null) return;
  const place = placeOf(object, field);
  if (place?.start === undefined) return;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1)
      valueLeaves(object, value[index], place.arr[index], FIELD, claim);
    return;
  }
  const kind = told.opaque?.[field] ?? FIELD;
  valueLeaves(object, value, place, kind === UNCLAIMED_IN_SPEC ? UNCLAIMED : kind, claim);
}

function valueLeaves(object, value, place, kind, claim) {
  if (isStruct(value) && !factsOf(value).bits) leaves(value, claim);
  else if (place.end > place.start) claim(startOf(place), endOf(place), kind, object);
}

/**
 * A node of the tree of fields. Children are made when they are asked for.
 *
 *   label   name of the field
 *   parent  the node above
 *   start, end  absolute bytes; undefined when it owns none
 *   error   why it cannot be read
 */
export class Node {
  constructor(label, value, place, parent, holder, field) {
    this.label = label;
    this.value = value;
    this.parent = parent;
    this.holder = holder;
    this.field = field;
    this.start = place?.start === undefined ? undefined : startOf(place);
    this.end = place?.end === undefined ? undefined : endOf(place);
    this.open = false;
    this.cached = undefined;
    this.error = undefined;
  }

  static broken(label, error, parent) {
    const node = new Node(label, undefined, undefined, parent);
    node.error = String(error.message ?? error);
    return node;
  }

  get hasChildren() {
    return Array.isArray(this.value) ? this.value.length > 0 : isStruct(this.value);
  }

  get children() {
    this.cached ??= Array.isArray(this.value) ? this.items() : this.members();
    return this.cached;
  }

  items() {
    const place = placeOf(this.holder, this.field);
    return this.value.map((item, index) =>
      new Node(`[${index}]`, item, place?.arr?.[index], this, this.holder, this.field));
  }

  members() {
    if (!isStruct(this.value)) return [];
    const told = factsOf(this.value);
    const own = ownFields(this.value);
    const others = Object.keys(told.fields).filter((field) => !own.includes(field));
    return [...own, ...others].flatMap((field) => this.member(told, field));
  }

  member(told, field) {
    const label = told.fields[field]?.[0].split(" ")[0] ?? field;
    try {
      const value = this.value[field];
      if (value === undefined || value === null) return [];
      return [new Node(label, value, placeOf(this.value, field), this, this.value, field)];
    } catch (error) {
      return [Node.broken(label, error, this)];
    }
  }

  /** True when the field owns the bytes it lies on, so that a search may go through it. */
  get owns() {
    return Array.isArray(this.parent?.value) || ownFields(this.holder).includes(this.field);
  }

  /** Dotted path from the root. */
  get path() {
    if (!this.parent) return this.label;
    const above = this.parent.parent ? this.parent.path : "";
    return this.label.startsWith("[") || !above ? above + this.label : `${above}.${this.label}`;
  }

  /** What the spec says of the field: name, page and text. */
  get told() {
    return this.holder ? factsOf(this.holder).fields[this.field] : undefined;
  }

  /** Name of the value in its enum. */
  get enumName() {
    const place = this.holder && placeOf(this.holder, this.field);
    const path = place?.enumName ?? place?.arr?.[0]?.enumName;
    if (!path || typeof this.value !== "number") return undefined;
    const names = path.split(".").reduce((holder, name) => holder?.[name], classes);
    return names?.[this.value];
  }
}

/** The tree of a file. */
export function treeOf(root, label) {
  const node = new Node(label, root);
  node.open = true;
  return node;
}
