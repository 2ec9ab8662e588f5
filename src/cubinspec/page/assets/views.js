// The views. Each takes the data and the rest of the address, and gives elements.

/** Columns of a table of functions. */
function functionColumns(data, words) {
  const { functions } = data;
  const figure = (title, name, width) => ({
    title, width, number: true, help: words[name] ?? words[name.replace("_size", "")],
    value: (row) => functions[name][row], text: (row) => count(functions[name][row]),
  });
  const several = new Set(data.images.file).size > 1;
  return [
    {
      title: "name", width: "minmax(260px, 1fr)", value: (row) => data.name(row), text: (row) => data.name(row),
      help: "the readable name",
    },
    ...several ? [{
      title: "file", width: "150px", value: (row) => fileOf(data, row), text: (row) => fileOf(data, row),
      help: words.file,
    }] : [],
    {
      title: "target", width: "78px", value: (row) => targetOrder(data.arch(row)), text: (row) => data.arch(row),
      help: words.arch,
    },
    figure("registers", "registers", "84px"),
    figure("stack", "stack", "74px"),
    figure("shared", "shared", "80px"),
    ...functions.local.some(Boolean) ? [figure("local", "local", "70px")] : [],
    figure("const0", "const0", "74px"),
    figure("barriers", "barriers", "78px"),
    figure("threads", "max_threads", "78px"),
    {
      title: "params", width: "74px", number: true, help: words.num_params,
      value: (row) => data.paramCount(row), text: (row) => count(data.paramCount(row)),
    },
    figure("code", "code_size", "84px"),
    {
      title: "occupancy", width: "126px", number: true, help: "resident warps as a part of those an SM has room for",
      value: (row) => data.occupancy(row)?.occupancy ?? null,
      text: (row) => (data.occupancy(row) ? percent(data.occupancy(row).occupancy) : ""),
      cell: (row) => meter(data.occupancy(row)?.occupancy),
    },
    {
      title: "limited by", width: "140px", help: "what is used up first",
      value: (row) => limits(data, row) || null, text: (row) => limits(data, row),
    },
  ];
}

function fileOf(data, row) {
  return data.files[data.images.file[data.functions.image[row]]].name.split("/").at(-1);
}

function targetOrder(arch) {
  return `${arch.replace(/\D/g, "").padStart(4, "0")}${arch}`;
}

function limits(data, row) {
  return (data.occupancy(row)?.limited_by ?? []).join(", ");
}

function meter(value) {
  if (value === null || value === undefined) return "";
  return el("span", {}, el("span", { class: "meter", "aria-hidden": true },
    el("i", { style: { width: widthOf(value) } })), percent(value));
}

// -- summary ------------------------------------------------------------------------------------

function summaryView(data) {
  const kernels = data.kernels();
  const size = data.files.reduce((sum, file) => sum + file.size, 0);
  const targets = [...new Set(data.images.arch)].filter((arch) => arch.startsWith("sm_"));
  const saving = data.files.reduce((sum, file) => sum + (file.sizes ? file.sizes.saving[0] + file.sizes.saving[1] : 0), 0);
  const names = new Set(kernels.map((row) => data.functions.name[row]));
  return [
    el("div", { class: "tiles" },
      tile(bytes(size), data.files.length === 1 ? data.files[0].what : plural(data.files.length, "file"), "#sizes"),
      tile(count(kernels.length), names.size === kernels.length ? "kernels" : `kernels of ${count(names.size)} names`, "#kernels"),
      tile(count(targets.length), "targets with machine code", "#images"),
      tile(count(data.images.file.length), "images", "#images"),
      saving ? tile(bytes(saving), "could be saved: stored several times", "#duplicates") : null,
      data.difference ? tile(data.difference.status, "against the older build", "#changes") : null),
    faultNotice(data),
    data.files.length > 1 ? filesCard(data) : null,
    el("div", { class: "cards" }, contentCard(data), gpusCard(data), ...rankings(data, kernels)),
  ];
}

function faultNotice(data) {
  const lines = data.files.filter((file) => file.error).map((file) => file.error);
  data.images.error.forEach((error) => error && lines.push(error));
  if (!lines.length) return null;
  const shown = lines.slice(0, 12).map((line) => el("p", {}, line));
  return el("section", { class: "notice", "aria-label": "Faults" },
    el("h3", { class: "bad" }, `${plural(lines.length, "thing")} could not be read`), ...shown,
    lines.length > 12 ? el("p", { class: "dim" }, `and ${count(lines.length - 12)} more; see the images`) : null);
}

function filesCard(data) {
  const { files } = data;
  const grid = new Table({
    label: "Files", rows: files.map((file, row) => row), columns: [
      { title: "file", width: "minmax(280px, 1fr)", value: (row) => files[row].name, text: (row) => files[row].name },
      {
        title: "what", width: "minmax(160px, 1fr)", value: (row) => files[row].error ?? files[row].what,
        text: (row) => files[row].error ?? files[row].what,
        cell: (row) => el("span", { class: files[row].error ? "bad" : null }, files[row].error ?? files[row].what),
      },
      { title: "size", width: "120px", number: true, value: (row) => files[row].size, text: (row) => (files[row].error ? "" : count(files[row].size)) },
    ],
  });
  return el("div", { class: "cards" }, wideCard("Files", grid.element));
}

function contentCard(data) {
  const pieces = viewRows(data, "content").map(([name, stored]) => [name, stored]);
  return pieces.length ? card("What the bytes are", ...kindBar(pieces, pieces.map(([kind]) => kind)),
    el("p", { class: "dim" }, "Bytes as they are stored. ", link("All sizes", "#sizes"))) : null;
}

/** Files whose GPUs are listed. */
const MOST_GPU_TABLES = 12;

function gpusCard(data) {
  const files = data.files.filter((file) => file.archs);
  const cards = files.slice(0, MOST_GPU_TABLES).map((file) => {
    const gpus = file.archs.gpus.filter((gpu) => gpu.items);
    const rows = gpus.filter((gpu) => gpu.runs !== "no").map((gpu) => [
      el("span", {}, `${gpu.gpu} `, el("span", { class: "dim" }, gpu.generation)),
      el("span", { class: `tag ${gpu.runs === "yes" ? "good" : "warn"}` }, gpu.runs),
      gpu.by.map((by) => `${by.target} (${count(by.items)})`).join(", "),
    ]);
    const none = gpus.filter((gpu) => gpu.runs === "no");
    return el("details", { open: data.files.length === 1 },
      el("summary", {}, data.files.length === 1 ? `${plural(file.archs.kernels, "kernel")} by name` : file.name),
      rows.length ? table(["GPU", "runs", "by which code"], rows) : null,
      none.length ? el("p", { class: "dim" }, el("b", { class: "bad" }, "not on "),
        none.map((gpu) => el("span", { title: gpu.without[0]?.because }, `${gpu.gpu} `))) : null);
  });
  return cards.length ? card("On which GPUs it runs", ...cards,
    files.length > cards.length ? el("p", { class: "dim" }, `and ${plural(files.length - cards.length, "more file")}`) : null) : null;
}

function rankings(data, kernels) {
  const best = (title, value, show, help) => {
    const rows = kernels.filter((row) => value(row)).sort((a, b) => value(b) - value(a)).slice(0, 6);
    return rows.length ? card(title, help ? el("p", { class: "dim" }, help) : null,
      table(["kernel", "target", ""], rows.map((row) => [
        el("a", { href: `#function/${row}`, class: "clip" }, data.name(row)), data.arch(row), { number: show(row) },
      ]))) : null;
  };
  const { functions } = data;
  return [
    best("Most code", (row) => functions.code_size[row], (row) => bytes(functions.code_size[row])),
    best("Most registers", (row) => functions.registers[row], (row) => count(functions.registers[row])),
    best("Most stack", (row) => functions.stack[row], (row) => bytes(functions.stack[row])),
    best("Lowest occupancy", (row) => data.occupancy(row) && 1 - data.occupancy(row).occupancy,
      (row) => percent(data.occupancy(row).occupancy)),
  ];
}

// -- kernels ------------------------------------------------------------------------------------

function kernelsView(data, rest, state) {
  const columns = functionColumns(data, data.words.columns);
  const status = el("span", { role: "status", class: "dim" });
  const search = el("input", {
    type: "search", "aria-label": "Search names", placeholder: "Search names: words, or re:expression  ( / )",
  });
  search.value = state.query ?? "";
  const target = choice("target", [...new Set(data.images.arch)].filter((arch) => arch.startsWith("sm_"))
    .sort((a, b) => (targetOrder(a) < targetOrder(b) ? -1 : 1)), state.target);
  const kinds = choice("kind", ["kernels", "device functions", "all functions"], state.kind ?? "kernels", false);
  const hasOthers = data.kernels().length < data.count;
  const grid = new Table({
    label: "Kernels", columns, rows: [], href: (row) => `#function/${row}`,
    open: (row) => go(`#function/${row}`), sort: state.sort,
  });
  const matches = new Map();
  const refresh = () => {
    Object.assign(state, { query: search.value, target: target.value, kind: kinds.value });
    const fits = searcher(search.value);
    matches.clear();
    const named = (number) => {
      if (!matches.has(number)) {
        matches.set(number, fits(data.names[number]) || (data.readable[number] !== null && fits(data.readable[number])));
      }
      return matches.get(number);
    };
    const rows = [];
    for (let row = 0; fits && row < data.count; row += 1) {
      if (target.value && data.arch(row) !== target.value) continue;
      if (kinds.value === "kernels" && !data.functions.is_kernel[row]) continue;
      if (kinds.value === "device functions" && data.functions.is_kernel[row]) continue;
      if (named(data.functions.name[row])) rows.push(row);
    }
    grid.show(rows);
    const all = kinds.value === "kernels" ? data.kernels().length : data.count;
    status.textContent = fits ? `${count(rows.length)} of ${count(all)}` : "This is no regular expression.";
  };
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") grid.element.focus();
  });
  target.addEventListener("change", refresh);
  kinds.addEventListener("change", refresh);
  refresh();
  grid.element.addEventListener("click", () => { state.sort = grid.sorted; });
  return [el("div", { class: "tools" }, search, labelled("target", target),
    hasOthers ? labelled("show", kinds) : null, status), grid.element];
}

function choice(name, words, chosen, all = true) {
  const select = el("select", { name }, all ? el("option", { value: "" }, "all") : null,
    words.map((word) => el("option", { value: word }, word)));
  select.value = chosen ?? select.options[0]?.value ?? "";
  return select;
}

function labelled(text, control) {
  return el("label", {}, text, control);
}

// -- one function -------------------------------------------------------------------------------

function functionView(data, [number]) {
  const row = Number(number);
  if (!(row >= 0 && row < data.count)) return [el("p", {}, "There is no such function.")];
  const { functions } = data;
  const image = functions.image[row];
  const mangled = data.mangled(row);
  const shape = (name) => functions[name][row]?.join(" × ");
  const words = data.words.columns;
  return [
    data.name(row) === mangled ? null : el("div", { class: "mangled" }, el("code", {}, mangled)),
    el("div", { class: "cards" },
      card(functions.is_kernel[row] ? "Kernel" : "Device function", facts([
        ["target", `${data.arch(row)} (${data.images.type[image] === "rel" ? "relocatable" : "executable"})`],
        ["registers", count(functions.registers[row]), words.registers],
        ["stack", functions.open_stack[row] ? `unknown: ${functions.open_stack[row]}` : count(functions.stack[row]), words.stack],
        ["own stack frame", count(functions.frame_size[row])],
        ["shared memory", count(functions.shared[row]), words.shared],
        ["local memory", count(functions.local[row]), words.local],
        ["constant bank 0", count(functions.const0[row]), words.const0],
        ["barriers", count(functions.barriers[row]), words.barriers],
        ["mbarrier objects", count(functions.mbarriers[row])],
        ["required block", shape("reqntid")],
        ["largest block", shape("max_ntid")],
        ["cluster", shape("cluster")],
        ["largest cluster", count(functions.max_cluster_rank[row])],
        ["register cap", functions.max_registers[row] === 255 ? "none" : count(functions.max_registers[row])],
        ["code", `${count(functions.code_size[row])} bytes`, words.code_size],
        ["image", link(data.place(image), `#sizes/f${data.images.file[image]}/t${encodeURIComponent(data.images.arch[image])}/i${image}`)],
        ["made by", data.images.tool[image]],
      ])),
      occupancyCard(data.occupancy(row)),
      paramsCard(data, row),
      sizeCard(data, row),
      callsCard(data, row),
      attributesCard(data, row),
      othersCard(data, row)),
  ];
}

function occupancyCard(found) {
  if (!found) return null;
  const step = found.next_step;
  return card("Occupancy", el("p", {},
    el("b", {}, percent(found.occupancy)), ` at ${count(found.block)} threads per block (${found.block_source}): `,
    `${found.blocks_per_sm} blocks, ${found.warps_per_sm} of ${found.max_warps_per_sm} warps on an SM.`),
  el("p", { class: "dim" }, `Limited by ${found.limited_by.join(", ")}. `,
    step ? `Next step: ${step.text} → ${percent(step.occupancy)}.` : ""),
  curvePicture(found),
  table(["limit", "blocks it allows"], Object.entries(found.limits).map(([name, blocks]) => [name, { number: count(blocks) }])));
}

function paramsCard(data, row) {
  const params = data.params[data.functions.params[row]];
  if (!params.length) return null;
  const size = data.functions.param_size[row];
  const start = data.functions.param_offset[row];
  return card("Parameters", el("p", { class: "dim" },
    `${count(size)} bytes`, start === null ? "" : `, from offset ${count(start)} of constant bank 0`),
  paramPicture(params, size),
  table(["parameter", "offset", "bytes", "points to"], params.map(([ordinal, offset, length, alignment, space]) => [
    String(ordinal), { number: count(offset) }, { number: count(length) },
    [alignment ? `aligned to ${count(2 ** alignment)}` : "", space ? `space ${space}` : ""].filter(Boolean).join(", "),
  ])));
}

function sizeCard(data, row) {
  const pieces = data.piecesOf(data.own, row);
  return pieces.length ? card("Where its bytes go", ...kindBar(pieces, [...data.own.keys()])) : null;
}

/** Kinds of edges, seen from the function that they lead to. */
const BY = { "may call": "may be called by", holds: "lies in", "refers to": "is referred to by" };

function callsCard(data, row) {
  const place = data.callsAt.get(row);
  if (!place) return null;
  const graph = data.calls[place.graph];
  const drawing = graph.drawn.find((one) => one.root === place.node);
  const names = (ends, said) => el("ul", { class: "change-list" }, ends.map(([node, kind]) => {
    const number = graph.names[node];
    const target = graph.functions[node];
    const text = data.readable[number] ?? data.names[number];
    return el("li", { class: "wrap" }, kind === "calls" ? "" : el("span", { class: "dim" }, `${said[kind] ?? kind} `),
      target === null ? text : link(text, `#function/${target}`),
      el("span", { class: "dim" }, `  ${graph.facts[node]}`));
  }));
  const below = graph.edges.filter(([from]) => from === place.node).map(([, to, kind]) => [to, kind]);
  const above = graph.edges.filter(([, to]) => to === place.node).map(([from, , kind]) => [from, kind]);
  return wideCard("Calls", drawing ? callsPicture(data, graph, drawing) : null,
    below.length ? el("div", {}, el("h3", {}, "What it calls"), names(below, {})) : null,
    above.length ? el("div", {}, el("h3", {}, "What calls it"), names(above, BY)) : null);
}

function attributesCard(data, row) {
  const records = data.attributes[data.functions.attributes[row]].map((number) => data.records[number]);
  if (!records.length) return null;
  return wideCard("Attributes", table(["attribute", "value", "meaning"], records.map(([name, text]) => {
    const entry = data.words.attributes[name];
    return [el("code", {}, name), text, entry ? el("span", { title: `${entry.evidence}${entry.note ? `: ${entry.note}` : ""}` }, entry.meaning) : "unknown"];
  })));
}

function othersCard(data, row) {
  const others = data.byName.get(data.functions.name[row]).filter((other) => other !== row);
  if (!others.length) return null;
  const { functions } = data;
  return wideCard("The same name elsewhere", table(
    ["target", "image", "registers", "stack", "shared", "code", "occupancy"],
    [row, ...others].sort((a, b) => (targetOrder(data.arch(a)) < targetOrder(data.arch(b)) ? -1 : 1)).slice(0, 100).map((other) => [
      other === row ? el("b", {}, `${data.arch(other)} (this)`) : link(data.arch(other), `#function/${other}`),
      data.place(functions.image[other]),
      ...["registers", "stack", "shared", "code_size"].map((name) => ({ number: count(functions[name][other]) })),
      { number: data.occupancy(other) ? percent(data.occupancy(other).occupancy) : "" },
    ])));
}

// -- sizes --------------------------------------------------------------------------------------

function sizesView(data, path) {
  const sizes = new Sizes(data);
  const way = sizes.way(path);
  const node = way.at(-1);
  const total = way[0].size;
  const href = (child) => `#sizes/${child.path.map(encodeURIComponent).join("/")}`;
  const crumbs = el("ol", { class: "crumbs", "aria-label": "Where this is" }, way.map((step, place) => el("li", {},
    place === way.length - 1 ? el("b", { class: "wrap" }, step.title) : link(step.title, href(step)),
    place === way.length - 1 ? el("span", { class: "dim" }, ` ${bytes(step.size)}, ${percent(step.size / total, 1)}`) : null,
    step.row !== undefined ? el("span", {}, " · ", link("open", `#function/${step.row}`)) : null)));
  const children = node.children();
  const rows = new Table({
    label: "Parts", rows: children.map((child, place) => place), columns: [
      { title: "part", width: "minmax(300px, 1fr)", value: (row) => children[row].title, text: (row) => children[row].title },
      {
        title: "bytes in the file", width: "160px", number: true, value: (row) => children[row].size,
        text: (row) => count(Math.round(children[row].size)),
      },
      {
        title: "share", width: "130px", number: true, value: (row) => children[row].size,
        text: (row) => percent(children[row].size / total, 2), cell: (row) => meterOf(children[row].size, total),
      },
    ],
    open: (row) => children[row].path && children[row].children && go(href(children[row])),
  });
  return [crumbs, treemap(node, total, href), el("p", { class: "dim" },
    "Areas are bytes of the file. What is compressed is shared out by the sizes before compression."), rows.element,
  el("div", { class: "cards" }, ...viewCards(data))];
}

function meterOf(size, total) {
  return el("span", {}, el("span", { class: "meter", "aria-hidden": true },
    el("i", { style: { width: widthOf(size / total) } })), percent(size / total, 2));
}

/** Rows of a view of all files together: name -> bytes in the files, bytes unpacked. */
function viewRows(data, view) {
  const sums = new Map();
  for (const file of data.files) {
    for (const [name, stored, size] of file.sizes?.views[view] ?? []) {
      const before = sums.get(name) ?? [0, 0];
      sums.set(name, [before[0] + stored, before[1] + size]);
    }
  }
  return [...sums].map(([name, sizes]) => [name, ...sizes]).filter(([, stored]) => stored > 0)
    .sort((a, b) => b[1] - a[1]);
}

function viewCards(data) {
  const titles = { content: "By content", arch: "By target", section: "By kind of section", kernel: "By kernel, all targets together" };
  const text = (name) => (typeof name === "number" ? data.readable[name] ?? data.names[name] : name);
  return Object.entries(titles).map(([view, title]) => {
    const rows = viewRows(data, view);
    const total = rows.reduce((sum, [, stored]) => sum + stored, 0);
    return card(title, table(["", "in the file", "share", "unpacked"],
      rows.slice(0, 12).map(([name, stored, size]) => [el("span", { class: "clip", title: text(name) }, text(name)),
        { number: count(stored) }, { number: percent(stored / total, 1) }, { number: count(size) }])),
    rows.length > 12 ? el("p", { class: "dim" }, `and ${plural(rows.length - 12, "smaller row")}`) : null);
  });
}

// -- calls, duplicates, coverage, images --------------------------------------------------------

function callsView(data) {
  const rows = [];
  data.calls.forEach((graph, number) => {
    const below = new Map();
    graph.edges.forEach(([from, to]) => push(below, from, to));
    const drawn = new Set(graph.drawn.map((drawing) => drawing.root));
    const called = new Set(graph.edges.map(([, to]) => to));
    for (const [node, ends] of below) {
      const place = graph.functions[node];
      if (place !== null && (data.functions.is_kernel[place] || !called.has(node))) {
        rows.push({ place, number, facts: graph.facts[node], direct: new Set(ends).size, reached: reached(below, node), drawn: drawn.has(node) });
      }
    }
  });
  if (!rows.length) return [el("p", {}, "No function calls another one: everything was inlined, or the files list no calls.")];
  const grid = new Table({
    label: "Functions that call others", rows: rows.map((row, place) => place), sort: [3, true],
    href: (row) => `#function/${rows[row].place}`, open: (row) => go(`#function/${rows[row].place}`),
    columns: [
      { title: "function", width: "minmax(300px, 1fr)", value: (row) => data.name(rows[row].place), text: (row) => data.name(rows[row].place) },
      { title: "target", width: "84px", value: (row) => targetOrder(data.arch(rows[row].place)), text: (row) => data.arch(rows[row].place) },
      { title: "calls", width: "80px", number: true, value: (row) => rows[row].direct, text: (row) => count(rows[row].direct) },
      { title: "all below", width: "100px", number: true, value: (row) => rows[row].reached, text: (row) => count(rows[row].reached) },
      { title: "what it takes", width: "minmax(260px, 420px)", value: (row) => rows[row].facts, text: (row) => rows[row].facts },
    ],
  });
  return [el("p", { class: "dim" }, "Kernels and other roots that call something; open one for the drawing."), grid.element];
}

function reached(below, start) {
  const met = new Set([start]);
  const todo = [start];
  while (todo.length) {
    for (const next of below.get(todo.pop()) ?? []) {
      if (!met.has(next)) {
        met.add(next);
        todo.push(next);
      }
    }
  }
  return met.size - 1;
}

function duplicatesView(data) {
  const rows = data.files.flatMap((file) => (file.sizes ? [...file.sizes.duplicate_images, ...file.sizes.duplicate_code] : []));
  if (!rows.length) return [el("p", {}, "Nothing is stored twice.")];
  const text = (row) => (rows[row][2] === null ? `whole ${rows[row][0]}` : data.readable[rows[row][2]] ?? data.names[rows[row][2]]);
  const panel = el("section", { class: "card", "aria-live": "polite", hidden: true });
  const totals = data.files.filter((file) => file.sizes).map((file) => el("p", { class: "dim" },
    `${data.files.length > 1 ? `${file.name}: ` : ""}${plural(file.sizes.duplicates[0], "image")} (${bytes(file.sizes.saving[0])}) and code of `
    + `${plural(file.sizes.duplicates[1], "function")} (${bytes(file.sizes.saving[1])}) are stored several times.`));
  const grid = new Table({
    label: "Duplicates", rows: rows.map((row, place) => place), sort: [3, true], columns: [
      { title: "what", width: "minmax(300px, 1fr)", value: text, text },
      { title: "target", width: "110px", value: (row) => targetOrder(rows[row][1]), text: (row) => rows[row][1] },
      { title: "copies", width: "90px", number: true, value: (row) => rows[row][3], text: (row) => count(rows[row][3]) },
      { title: "saving", width: "110px", number: true, value: (row) => rows[row][5], text: (row) => count(rows[row][5]), help: "bytes of the file that one copy would save" },
      { title: "bytes", width: "110px", number: true, value: (row) => rows[row][4], text: (row) => count(rows[row][4]) },
    ],
    open: (row) => {
      const [, , , copies, , , places] = rows[row];
      panel.hidden = false;
      panel.replaceChildren(el("h3", { class: "wrap" }, text(row)), el("ul", { class: "change-list" },
        places.map((place) => el("li", { class: "wrap" }, place || "the file itself")),
        copies > places.length ? el("li", { class: "dim" }, `and ${count(copies - places.length)} more`) : null));
    },
  });
  return [...totals, grid.element, panel];
}

function coverageView(data) {
  const covered = [];
  data.images.coverage.forEach((found, image) => found && covered.push([image, found]));
  const cubins = data.images.kind.filter((kind) => kind === "cubin").length;
  if (!covered.length) return [el("p", {}, "No cubin is here whose bytes could be counted.")];
  const sums = new Map();
  const add = (name, size) => sums.set(name, (sums.get(name) ?? 0) + size);
  for (const [, found] of covered) {
    add("named fields", found.named);
    Object.entries(found.opaque).forEach(([kind, size]) => add(kind, size));
    add("padding", found.padding);
    add("unclaimed", found.unclaimed);
  }
  const pieces = [...sums].sort((a, b) => b[1] - a[1]);
  const grid = new Table({
    label: "Coverage", rows: covered.map((row, place) => place), columns: [
      { title: "image", width: "minmax(300px, 1fr)", value: (row) => data.place(covered[row][0]), text: (row) => data.place(covered[row][0]) },
      { title: "target", width: "90px", value: (row) => targetOrder(data.images.arch[covered[row][0]]), text: (row) => data.images.arch[covered[row][0]] },
      ...["size", "named", "padding", "unclaimed"].map((name) => ({
        title: name, width: "110px", number: true, value: (row) => covered[row][1][name], text: (row) => count(covered[row][1][name]),
      })),
    ],
  });
  return [
    el("p", { class: "dim" }, covered.length === cubins ? "Every byte of every cubin, by what the spec says of it."
      : `Every byte of ${count(covered.length)} of ${count(cubins)} cubins, by what the spec says of it. The others are left out, as this takes long; cubinspec report --coverage all counts them, too.`),
    el("div", { class: "cards" }, wideCard("All together", ...kindBar(pieces, pieces.map(([kind]) => kind)))),
    el("p", {}), grid.element,
  ];
}

function imagesView(data) {
  const { images } = data;
  const rows = images.file.map((file, row) => row);
  const name = (row) => (data.files.length > 1 ? `${data.files[images.file[row]].name}${images.path[row] ? ` → ${images.path[row]}` : ""}` : data.place(row));
  const number = (title, of, width) => ({ title, width, number: true, value: of, text: (row) => count(of(row)) });
  const word = (title, column, width) => ({ title, width, value: (row) => images[column][row], text: (row) => images[column][row] });
  const grid = new Table({
    label: "Images", rows, columns: [
      { title: "image", width: "minmax(300px, 1fr)", value: name, text: name },
      word("kind", "kind", "80px"),
      { title: "target", width: "110px", value: (row) => targetOrder(images.arch[row]), text: (row) => images.arch[row] },
      word("type", "type", "70px"),
      number("functions", (row) => data.functionsOf.get(row)?.length ?? null, "100px"),
      number("size", (row) => images.size[row], "110px"),
      number("in the file", (row) => images.stored[row], "110px"),
      word("made by", "tool", "minmax(140px, 320px)"),
      word("fault", "error", "minmax(80px, 300px)"),
    ],
    open: (row) => images.kind[row] === "cubin" && go(`#sizes/f${images.file[row]}/t${encodeURIComponent(images.arch[row])}/i${row}`),
  });
  const superseded = images.superseded.filter(Boolean).length;
  return [superseded ? el("p", { class: "dim" }, `${plural(superseded, "image")} went into a device link, whose result is here, too.`) : null, grid.element];
}

// -- what changed -------------------------------------------------------------------------------

function changesView(data, rest, state) {
  const { difference } = data;
  const { rows } = difference;
  const marks = ["worse", "changed", "renamed", "new", "gone", "image"].filter((mark) => rows.some((row) => row.mark === mark));
  const panel = el("section", { class: "card", "aria-live": "polite", hidden: true });
  const search = el("input", { type: "search", "aria-label": "Search names", placeholder: "Search names  ( / )" });
  const mark = choice("what", marks, state.mark);
  const status = el("span", { role: "status", class: "dim" });
  const tone = { worse: "bad", gone: "warn", new: "good" };
  const change = (row) => rows[row].changes.join("; ");
  const rise = (row) => (rows[row].occupancy[0] === null || rows[row].occupancy[1] === null ? null : rows[row].occupancy[1] - rows[row].occupancy[0]);
  const grid = new Table({
    label: "Changes", rows: [], columns: [
      {
        title: "what", width: "96px", value: (row) => marks.indexOf(rows[row].mark), text: (row) => rows[row].mark,
        cell: (row) => el("span", { class: tone[rows[row].mark] ?? null }, rows[row].mark),
      },
      { title: "target", width: "84px", value: (row) => targetOrder(rows[row].arch), text: (row) => rows[row].arch },
      {
        title: "occupancy", width: "150px", number: true, value: rise,
        text: (row) => (rise(row) === null ? "" : rows[row].occupancy.map((value) => percent(value)).join(" → ")),
      },
      { title: "changes", width: "minmax(280px, 1fr)", value: change, text: change },
      { title: "function", width: "minmax(300px, 1fr)", value: (row) => rows[row].name, text: (row) => rows[row].name },
    ],
    open: (row) => {
      const found = rows[row];
      panel.hidden = false;
      panel.replaceChildren(
        el("h3", { class: "wrap" }, found.name),
        found.mangled ? el("div", { class: "mangled" }, el("code", {}, found.mangled)) : "",
        found.was ? el("p", { class: "wrap" }, `${found.how}: was ${found.was}`) : "",
        el("ul", { class: "change-list" }, found.changes.map((text) => el("li", { class: "wrap" }, text))));
      panel.scrollIntoView({ block: "nearest" });
    },
  });
  const refresh = () => {
    const fits = searcher(search.value);
    const shown = rows.map((row, place) => place).filter((place) => fits
      && (!mark.value || rows[place].mark === mark.value) && (fits(rows[place].name) || fits(rows[place].mangled ?? "")));
    state.mark = mark.value;
    grid.show(shown);
    status.textContent = fits ? `${count(shown.length)} of ${count(rows.length)}` : "This is no regular expression.";
  };
  search.addEventListener("input", refresh);
  mark.addEventListener("change", refresh);
  refresh();
  return [
    el("p", { class: "wrap" }, el("span", { class: "dim" }, "from "), difference.old, el("span", { class: "dim" }, " to "), difference.new),
    el("p", {}, el("b", {}, difference.summary)),
    difference.facts.length ? el("ul", { class: "change-list" }, difference.facts.map((line) => el("li", { class: "wrap" }, line))) : null,
    rows.length ? el("div", { class: "tools" }, search, labelled("what", mark), status) : null,
    rows.length ? grid.element : null, panel,
  ];
}
