// One opened file, or one image out of it: its bytes, its tree, and what each byte is.

import knowledge from "./knowledge.json";
import { attribute, Claims, totals } from "./coverage.js";
import { categoryOf } from "./categories.js";
import { archOf, findImages, isCubin } from "./containers.js";
import { kernelsOf } from "./kernels.js";
import { FIELD, leaves, Node, ownFields, parse, treeOf } from "./fields.js";

/** Work goes on for so many milliseconds before the page may draw again. */
const SLICE = 40;

const channel = new MessageChannel();
/** Let the page draw and answer; timers would wait longer than that. */
const pause = () => new Promise((resume) => {
  channel.port1.onmessage = resume;
  channel.port2.postMessage(null);
});

export class OpenFile {
  constructor(name, bytes) {
    this.name = name;
    this.bytes = bytes;
    this.images = [];
    this.faults = [];
    this.kernels = [];
    this.spans = null;
    this.isCubin = isCubin(bytes);
    this.units = [];
    this.claims = new Claims();
    this.classes = new Map();
    if (this.isCubin) this.openCubin();
    else this.openContainer();
  }

  openCubin() {
    this.root = parse("ElfCuda", this.bytes);
    this.attempt("target", () => { this.arch = archOf(this.root); });
    this.tree = treeOf(this.root, this.name);
    this.attempt("sections", () => this.checkWork());
    this.rest = "unclaimed";
  }

  openContainer() {
    const { containers, images, faults, host } = findImages(this.bytes);
    this.images = images;
    this.format = host.format;
    this.faults.push(...faults);
    if (images.length === 0) {
      throw new Error(faults[0] ?? "no cubin, no fatbin, and no device code in it");
    }
    const list = containers.map(({ content }) => content);
    const arr = containers.map(({ start, end }) => ({ start, end, ioOffset: 0 }));
    const holder = { containers: list, _debug: { containers: { arr, start: 0, end: 0, ioOffset: 0 } } };
    this.tree = new Node(this.name, list, undefined, undefined, holder, "containers");
    this.tree.open = true;
    this.rest = containers[0]?.start === 0 ? "unclaimed" : "host";
  }

  /** Refuse sections that share bytes so often that reading them all would never end. */
  checkWork() {
    let sum = 0;
    for (const section of this.root.sections) sum += section.lenBody;
    if (sum > knowledge.numbers.MAX_SHARED_FACTOR * this.bytes.length) {
      this.tooMuch = true;
      throw new Error(`the sections share the bytes of the file, ${sum} bytes in all`);
    }
  }

  attempt(where, work) {
    try {
      work();
    } catch (error) {
      this.faults.push(`${where}: ${error.message ?? error}`);
    }
  }

  /** Read every field, in slices, and give each byte to one; `tell(part)` says how far it is. */
  async readAll(tell) {
    let since = performance.now();
    const parts = [...this.parts()];
    for (const [number, [label, work]] of parts.entries()) {
      this.attempt(label, work);
      if (performance.now() - since > SLICE) {
        tell(number / parts.length);
        await pause();
        since = performance.now();
      }
    }
    if (this.root) this.attempt("kernels", () => { this.kernels = kernelsOf(this.root); });
    this.claimImages();
    await pause();
    this.spans = attribute(this.bytes, this.claims, this.rest);
    this.totals = totals(this.spans);
  }

  /** The pieces of work: label and function. */
  * parts() {
    if (!this.root) {
      for (const node of this.tree.children)
        yield [node.label, () => this.claimBelow(node, node.value)];
      return;
    }
    for (const field of ownFields(this.root)) {
      if (field === "sections" && this.tooMuch) continue;
      const node = this.tree.children.find((child) => child.field === field);
      if (!node) continue;
      if (!Array.isArray(node.value)) yield [node.label, () => this.claimBelow(node, node.value)];
      else for (const item of node.children) yield [item.path, () => this.claimBelow(item, item.value)];
    }
  }

  claimBelow(node, object) {
    this.units.push(node);
    const unit = this.units.length - 1;
    leaves(object, (start, end, kind, holder) =>
      this.claims.add(start, end, this.classOf(kind, holder), unit));
  }

  /** The number of the class of a leaf; most are fields, whose type decides. */
  classOf(kind, holder) {
    if (kind !== FIELD) return this.claims.number(kind, categoryOf(kind, holder));
    let number = this.classes.get(holder.constructor);
    if (number === undefined) {
      number = this.claims.number(kind, categoryOf(kind, holder));
      this.classes.set(holder.constructor, number);
    }
    return number;
  }

  /** Images outside of containers are known as a whole, and by their place. */
  claimImages() {
    if (this.root) return;
    const bare = this.claims.number("image", "packed");
    const magic = this.claims.number(FIELD, "header");
    for (const image of this.images)
      if (image.label.startsWith("cubin at"))
        this.claims.add(image.start, image.start + image.stored, bare, -1);
    for (const node of this.tree.children) this.claims.add(node.start, node.start + 4, magic, -1);
  }

  /** The node of the leaf that holds a byte; undefined where no field does. */
  nodeAt(offset) {
    if (!this.spans) return undefined;
    const unit = this.units[this.spans.units[this.spans.at(offset)]];
    return unit && (leafBelow(unit, offset) ?? unit);
  }
}

const holds = (node, offset) => node.start <= offset && offset < node.end;
const isOwned = (node) => node.owns && !node.error;

/** Look for the leaf first where the place of a field says so, then wherever fields lead. */
function leafBelow(node, offset) {
  if (!node.hasChildren) return holds(node, offset) ? node : undefined;
  const owned = node.children.filter(isOwned);
  const likely = owned.filter((child) => holds(child, offset));
  for (const child of likely) {
    const found = leafBelow(child, offset);
    if (found) return found;
  }
  for (const child of owned) {
    if (likely.includes(child) || !child.hasChildren) continue;
    const found = leafBelow(child, offset);
    if (found) return found;
  }
  return likely[0];
}
