// Pictures of one function: its parameters, its occupancy, the calls below it.

/** The parameter block as a map of bytes; hatched boxes are holes. */
function paramPicture(params, size) {
  const end = Math.max(size ?? 0, ...params.map(([, offset, bytes]) => offset + bytes));
  let perRow = 64;
  while (end / perRow > 14) perRow *= 2;
  if (end <= 32) perRow = 32;
  const [left, unit, height] = [46, 640 / perRow, 26];
  const rows = Math.ceil(end / perRow);
  const picture = svg("svg", {
    class: "params", viewBox: `0 0 ${left + 644} ${rows * (height + 4) + 4}`, width: left + 644, role: "img",
    "aria-label": `Parameter block of ${end} bytes with ${plural(params.length, "parameter")}`,
  });
  const box = (from, to, kind, fill, label, tip) => {
    for (let at = from; at < to;) {
      const row = Math.floor(at / perRow);
      const stop = Math.min(to, (row + 1) * perRow);
      const x = left + (at - row * perRow) * unit;
      const y = row * (height + 4) + 2;
      const width = (stop - at) * unit;
      picture.append(svg("g", {},
        svg("title", {}, tip),
        svg("rect", { x, y, width, height, rx: 3, class: kind, fill }),
        label && width > 14 && at === from ? svg("text", { x: x + width / 2, y: y + 17 }, label) : null));
      at = stop;
    }
  };
  for (let row = 0; row < rows; row += 1) {
    picture.append(svg("text", { class: "offset", x: left - 8, y: row * (height + 4) + 19 }, row * perRow));
  }
  let at = 0;
  for (const [ordinal, offset, length] of [...params].sort((a, b) => a[1] - b[1])) {
    if (offset > at) box(at, offset, "hole", null, "", `${offset - at} unused bytes at ${at}`);
    box(offset, offset + length, null, colour(ordinal), String(ordinal),
      `parameter ${ordinal}: ${plural(length, "byte")} at offset ${offset}`);
    at = Math.max(at, offset + length);
  }
  if (end > at) box(at, end, "hole", null, "", `${end - at} unused bytes at ${at}`);
  return picture;
}

/** Occupancy over the size of a block. */
function curvePicture(found) {
  const [width, height, left, top, bottom, right] = [420, 156, 34, 10, 34, 18];
  const most = found.curve.length * found.warp_size;
  const x = (threads) => left + ((width - left - right) * threads) / most;
  const y = (value) => top + ((height - top - bottom) * (100 - value)) / 100;
  const points = found.curve.map((value, place) => `${x((place + 1) * found.warp_size).toFixed(1)} ${y(value).toFixed(1)}`);
  const now = 100 * found.occupancy;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, role: "img",
    "aria-label": `Occupancy over threads per block; ${now.toFixed(0)} % at ${found.block}`,
  });
  for (const value of [0, 50, 100]) {
    picture.append(svg("path", { class: "axis", d: `M${left} ${y(value)}H${width - right}` }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value));
  }
  for (let threads = 0; threads <= most; threads += most / 4) {
    picture.append(svg("text", { x: x(threads), y: height - 20, "text-anchor": "middle" }, threads));
  }
  picture.append(
    svg("path", { class: "area", d: `M${x(found.warp_size)} ${y(0)}L${points.join("L")}V${y(0)}Z` }),
    svg("path", { class: "curve", d: `M${points.join("L")}` }),
    svg("circle", { class: "now", cx: x(found.block), cy: y(now), r: 4.5 },
      svg("title", {}, `${found.block} threads: ${now.toFixed(0)} %`)),
    svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" },
      "threads per block; occupancy in %"));
  return picture;
}

/** The calls below a function; Python has placed boxes and bends. */
function callsPicture(data, graph, drawing) {
  const [width, height] = drawing.size;
  const half = 17;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `${plural(drawing.nodes.length, "function")} that are called below`,
  }, svg("defs", {}, svg("marker", {
    id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto",
  }, svg("path", { class: "tip", d: "M0 0L8 4L0 8z" }))));
  for (const [from, to, style, bends] of drawing.lines) {
    const [x, y, wide] = drawing.places[from];
    const [toX, toY] = drawing.places[to];
    const down = toY > y ? half : -half;
    const points = [[x, y + down], ...bends, [toX, toY - down]];
    const d = from === to ? `M${x + wide / 2} ${y - 6}c26 -14 26 26 0 12` : `M${points.map((p) => p.join(" ")).join("L")}`;
    picture.append(svg("path", { class: style || null, d, "marker-end": "url(#tip)" }));
  }
  drawing.nodes.forEach((node, place) => {
    const [x, y, wide] = drawing.places[place];
    const number = graph.names[node];
    const name = data.readable[number] ?? data.names[number];
    const row = graph.functions[node];
    const kind = `${graph.kinds[node]}${place === 0 ? " root" : ""}`;
    const box = svg("g", { class: kind },
      svg("title", {}, `${name}\n${graph.facts[node]}`),
      svg("rect", { x: x - wide / 2, y: y - half, width: wide, height: 2 * half, rx: 5 }),
      svg("text", { x, y: y - 2 }, shortened(name)),
      svg("text", { class: "small", x, y: y + 11 }, graph.facts[node]));
    picture.append(row === null || place === 0 ? box : svg("a", { href: `#function/${row}` }, box));
  });
  return el("div", { class: "calls", tabindex: 0, role: "region", "aria-label": "Call graph" }, picture);
}

function shortened(name) {
  return name.length <= 60 ? name : `${name.slice(0, 29)}…${name.slice(-29)}`;
}
