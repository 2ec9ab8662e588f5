// The explorer: opens files, and joins bytes, tree, tables and explanations.

import sample from "./sample.cubin";
import { CATEGORIES } from "./categories.js";
import { contentsOf } from "./containers.js";
import { aboutFile, aboutNode } from "./detail.js";
import { count, el, hex, safe } from "./dom.js";
import { classes } from "./fields.js";
import { OpenFile } from "./file.js";
import { HexView } from "./hexview.js";
import { VirtualList } from "./list.js";
import { TreeView, useEnums } from "./treeview.js";

const SAMPLE = "sample.cubin";
const KERNEL_COLUMNS = {
  name: "name", registers: "reg", stack: "stack", shared: "shared", local: "local", const0: "const0",
  barriers: "bar", threads: "threads", params: "params", paramBytes: "bytes", codeBytes: "code",
};
const IMAGE_COLUMNS = {
  label: "image", kind: "kind", arch: "arch", size: "size", stored: "stored", scheme: "compression",
  section: "section",
};
const ROW = 22;
const byId = (id) => document.getElementById(id);

useEnums((path) => path.split(".").reduce((holder, name) => holder?.[name], classes));

/** The file that was opened, the image of it that is looked at (-1: the file), and what is shown. */
const state = { outer: null, image: -1, file: null, opening: 0, tab: "fields", node: null };
const hexView = new HexView(byId("hex"), (offset) => pickByte(offset));
const tree = new TreeView(byId("tree"), (node) => pickNode(node));
const table = { rows: [], chosen: -1, list: null };

function say(text, bad = false) {
  byId("status").replaceChildren(el("span", { class: bad ? "bad" : null }, safe(text)));
}

/** Open bytes as the file of the page. */
async function openBytes(name, bytes) {
  const begun = performance.now();
  state.opening += 1;
  const number = state.opening;
  say(`reading ${name} …`);
  try {
    const file = new OpenFile(name, bytes);
    state.outer = file;
    state.image = -1;
    fillImages(file);
    await show(file, number, begun);
  } catch (error) {
    say(`${name}: ${error.message ?? error}`, true);
  }
}

/** Show a file or an image; `begun` is when somebody asked for it. */
async function show(file, number, begun) {
  state.file = file;
  state.node = null;
  byId("start").hidden = true;
  byId("view").hidden = false;
  byId("name").textContent = safe(`${file.name}, ${count(file.bytes.length)} bytes`);
  hexView.open(file);
  tree.open(file.tree);
  byId("coverage").replaceChildren();
  document.body.dataset.shown = Math.round(performance.now() - begun);
  byId("tab-images").hidden = state.outer.images.length === 0;
  byId("tab-kernels").hidden = !file.root;
  chooseTab(file.root ? state.tab : "images");
  byId("detail").replaceChildren(...aboutFile(file));
  await file.readAll((part) => say(`reading fields: ${Math.round(100 * part)} %`));
  if (number !== state.opening) return;
  hexView.draw();
  drawCoverage(file);
  if (!state.node) byId("detail").replaceChildren(...aboutFile(file));
  if (state.tab === "kernels") chooseTab("kernels");
  const faults = file.faults.length;
  const took = Math.round(performance.now() - begun);
  const summary = `${count(file.spans.starts.length)} fields and gaps, read in ${count(took)} ms`;
  say(faults ? `${summary}; ${count(faults)} faults, the first: ${file.faults[0]}` : summary, faults > 0);
  document.body.dataset.read = took;
  followAddress();
}

/** Look at an image of the opened file, or at the file itself (-1). */
async function openImage(number) {
  if (number === state.image) return;
  const begun = performance.now();
  state.opening += 1;
  const turn = state.opening;
  byId("images").value = String(number);
  if (number < 0) {
    state.image = -1;
    await show(state.outer, turn, begun);
    return;
  }
  const image = state.outer.images[number];
  try {
    const bytes = await contentsOf(image);
    if (turn !== state.opening) return;
    if (image.kind !== "cubin") {
      byId("detail").replaceChildren(...aboutText(image, bytes));
      say(`${image.label}: ${image.kind}, ${count(bytes.length)} bytes`);
      document.body.dataset.read = Math.round(performance.now() - begun);
      return;
    }
    const file = new OpenFile(`${state.outer.name}: ${image.label}`, bytes);
    state.image = number;
    await show(file, turn, begun);
  } catch (error) {
    say(`${image.label}: ${error.message ?? error}`, true);
  }
}

const MOST_TEXT = 4000;

/** PTX as text; other images by their size. */
function aboutText(image, bytes) {
  const start = new TextDecoder().decode(bytes.subarray(0, MOST_TEXT)).replace(/\0[^]*$/, "");
  const more = bytes.length > MOST_TEXT ? [el("p", null, `… of ${count(bytes.length)} bytes`)] : [];
  const body = image.kind === "ptx" ? [el("pre", null, safe2(start)), ...more] : more;
  return [el("h2", null, `${image.label}: ${image.kind}`), ...body];
}

/** A text of several lines without characters that would change how it reads. */
const safe2 = (text) => text.split("\n").map(safe).join("\n");

function fillImages(file) {
  const options = file.images.map((image, number) =>
    el("option", { value: number }, `${image.label}: ${image.kind} ${image.arch}`));
  byId("images").replaceChildren(el("option", { value: -1 }, "the whole file"), ...options);
  byId("images").hidden = file.images.length === 0;
}

function drawCoverage(file) {
  const sums = new Map();
  file.spans.starts.forEach((start, number) => {
    const { category } = file.spans.names[number];
    sums.set(category, (sums.get(category) ?? 0) + file.spans.end(number) - start);
  });
  const parts = Object.keys(CATEGORIES).filter((category) => sums.has(category));
  const told = parts.map((each) => `${CATEGORIES[each]} ${count(sums.get(each))}`).join(", ");
  byId("coverage").setAttribute("aria-label", `bytes: ${told}`);
  byId("coverage").replaceChildren(...parts.map((category) => el("i", {
    style: `flex:${sums.get(category)};background:var(--${category})`,
    title: `${CATEGORIES[category]}: ${count(sums.get(category))} bytes`,
  })));
}

function pickByte(offset, keep = false) {
  const { file } = state;
  const node = file.nodeAt(offset);
  state.node = node ?? null;
  const span = file.spans?.at(offset);
  const from = span === undefined ? offset : file.spans.starts[span];
  const to = span === undefined ? offset + 1 : file.spans.end(span);
  hexView.select(from, to, offset);
  if (node) {
    tree.reveal(node);
    byId("detail").replaceChildren(...aboutNode(node, file, offset));
  } else {
    const name = span === undefined ? "" : CATEGORIES[file.spans.names[span].category];
    byId("detail").replaceChildren(el("h2", null, `${hex(offset)}: ${name}`), ...aboutFile(file).slice(1));
  }
  if (!keep) writeAddress(offset);
}

function pickNode(node) {
  state.node = node;
  const own = node.start !== undefined && node.end > node.start;
  const place = own ? node : bodyOf(node);
  if (place) {
    hexView.select(place.start, place.end);
    writeAddress(place.start);
  }
  byId("detail").replaceChildren(...aboutNode(node, state.file));
}

/** The field below a section that has its bytes. */
function bodyOf(node) {
  return node.hasChildren && !Array.isArray(node.value)
    ? node.children.find((child) => child.end > child.start) : undefined;
}

function writeAddress(offset) {
  const image = state.image < 0 ? "" : `${state.image}:`;
  history.replaceState(null, "", `#${image}${hex(offset)}`);
}

/** Go where the address points: an offset, behind the number of an image and a colon. */
async function followAddress() {
  const found = /^#(?:(\d+):)?(0x[0-9a-f]+|\d+)$/i.exec(location.hash);
  if (!found || !state.outer) return;
  const image = found[1] === undefined ? -1 : Number(found[1]);
  if (image !== state.image && image < state.outer.images.length) {
    await openImage(image);
    return;
  }
  goTo(Number(found[2]));
}

function goTo(offset) {
  if (!state.file || !Number.isInteger(offset)) return;
  if (offset < 0 || offset >= state.file.bytes.length) {
    say(`there is no byte ${hex(offset)}; the last one is ${hex(state.file.bytes.length - 1)}`, true);
    return;
  }
  pickByte(offset);
}

function chooseTab(tab) {
  state.tab = tab;
  for (const name of ["fields", "kernels", "images"])
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === tab));
  byId("tree").hidden = tab !== "fields";
  byId("table").hidden = tab === "fields";
  if (tab === "kernels") fillTable(KERNEL_COLUMNS, state.file.kernels);
  if (tab === "images") fillTable(IMAGE_COLUMNS, state.outer.images);
  if (tab === "fields") tree.list.draw();
}

function fillTable(columns, rows) {
  const widths = Object.keys(columns).map((key, place) => (place ? "5.2rem" : "minmax(11rem, 1fr)"));
  const style = `grid-template-columns:${widths.join(" ")}`;
  Object.assign(table, { rows, chosen: -1 });
  const head = el("div", { class: "head", style }, Object.values(columns).map((name) => el("span", null, name)));
  const body = el("div");
  // a list that was replaced may draw once more, so it keeps its own rows
  table.list = new VirtualList(body, ROW, (number) => tableRow(rows[number], number, columns, style));
  byId("table").replaceChildren(head, body);
  body.addEventListener("scroll", () => { head.scrollLeft = body.scrollLeft; }, { passive: true });
  Object.assign(body.style, { overflow: "auto", height: `calc(100% - ${ROW}px)` });
  table.list.reset(rows.length);
}

function tableRow(row, number, columns, style) {
  const cells = Object.keys(columns).map((key) => {
    const text = typeof row[key] === "string" ? safe(row[key]) : count(row[key]);
    return el("span", { title: text }, text);
  });
  const told = { "data-row": number, style, class: number === table.chosen ? "on" : null };
  return el("div", told, cells);
}

function pickRow(number) {
  table.chosen = number;
  table.list.draw();
  if (state.tab === "images") openImage(number);
  else goTo(table.rows[number].offset);
}

/** Move the cursor in the bytes. */
function move(step) {
  const last = state.file.bytes.length - 1;
  pickByte(Math.max(0, Math.min(last, hexView.cursor + step)));
}

/** The image beside the one that was asked for last, also when that one was broken. */
function stepImage(step) {
  const last = state.outer.images.length - 1;
  openImage(Math.max(-1, Math.min(last, Number(byId("images").value) + step)));
}

function nextField(step) {
  const { spans } = state.file;
  if (!spans) return;
  const span = spans.at(hexView.cursor) + step;
  if (span >= 0 && span < spans.starts.length) pickByte(spans.starts[span]);
}

const KEYS = {
  o: () => byId("file").click(),
  g: () => byId("goto").focus(),
  "?": () => byId("help").showModal(),
};
const FILE_KEYS = {
  n: () => nextField(1),
  p: () => nextField(-1),
  1: () => chooseTab("fields"),
  2: () => state.file.root && chooseTab("kernels"),
  3: () => state.outer.images.length && chooseTab("images"),
  "[": () => stepImage(-1),
  "]": () => stepImage(1),
};
const HEX_KEYS = {
  ArrowRight: () => move(1),
  ArrowLeft: () => move(-1),
  ArrowDown: () => move(hexView.width),
  ArrowUp: () => move(-hexView.width),
  PageDown: () => move(hexView.width * hexView.list.visible),
  PageUp: () => move(-hexView.width * hexView.list.visible),
  Home: () => pickByte(0),
  End: () => pickByte(state.file.bytes.length - 1),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT)$/.test(event.target.tagName) || byId("help").open) return;
  const inHex = state.file && !byId("left").contains(event.target);
  const action = KEYS[event.key] ?? (state.file && FILE_KEYS[event.key]) ?? (inHex && HEX_KEYS[event.key]);
  if (!action) return;
  event.preventDefault();
  action();
}

async function openFile(file) {
  if (file) await openBytes(file.name, new Uint8Array(await file.arrayBuffer()));
}

function listen() {
  for (const id of ["open", "choose"]) byId(id).addEventListener("click", () => byId("file").click());
  byId("sample").addEventListener("click", () => openBytes(SAMPLE, sample.slice()));
  byId("file").addEventListener("change", async (event) => {
    await openFile(event.target.files[0]);
    event.target.value = ""; // the same file may be opened again
  });
  byId("images").addEventListener("change", (event) => openImage(Number(event.target.value)));
  byId("keys").addEventListener("click", () => byId("help").showModal());
  byId("goto").addEventListener("keydown", (event) => {
    if (event.key === "Enter") goTo(Number(event.target.value));
    if (event.key === "Enter" || event.key === "Escape") byId("hex").focus();
  });
  byId("tabs").addEventListener("click", (event) => {
    const tab = event.target.id.replace("tab-", "");
    if (tab && tab !== "tabs") chooseTab(tab);
  });
  byId("table").addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) pickRow(Number(row.dataset.row));
  });
  addEventListener("keydown", pressed);
  addEventListener("hashchange", followAddress);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  addEventListener("dragleave", () => document.body.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    openFile(event.dataTransfer.files[0]);
  });
}

listen();
