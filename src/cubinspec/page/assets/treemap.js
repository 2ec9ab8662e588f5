// Where the bytes go, as nested boxes: file, target, image, function, kind of section.

/** Places for values, largest first, in boxes as square as possible (Bruls, Huizing, van Wijk). */
function squarified(values, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const boxes = [];
  if (!total) return boxes;
  let [x, y, w, h] = [0, 0, width, height];
  const scale = (width * height) / total;
  const worst = (row, sum, side) => {
    const across = (sum * scale) / side;
    let bad = 0;
    for (const value of row) {
      const along = (value * scale) / across;
      bad = Math.max(bad, along / across, across / along);
    }
    return bad;
  };
  let at = 0;
  while (at < values.length) {
    const side = Math.max(1e-6, Math.min(w, h));
    let row = [values[at]];
    let sum = values[at];
    for (let next = at + 1; next < values.length; next += 1) {
      const wider = [...row, values[next]];
      if (worst(wider, sum + values[next], side) > worst(row, sum, side)) break;
      row = wider;
      sum += values[next];
    }
    const across = (sum * scale) / side;
    let along = 0;
    for (const value of row) {
      const length = (value * scale) / across;
      boxes.push(w <= h ? [x + along, y, length, across] : [x, y + along, across, length]);
      along += length;
    }
    if (w <= h) [y, h] = [y + across, h - across];
    else [x, w] = [x + across, w - across];
    at += row.length;
  }
  return boxes;
}

/** The tree of sizes. A node is {title, size, path, children(), tint}; sizes are bytes of the file. */
class Sizes {
  constructor(data) {
    this.data = data;
    this.kinds = [...new Set([...data.own.keys(), ...data.shared.keys()])];
  }

  root() {
    const { files } = this.data;
    const children = sortedNodes(files.map((file, number) => this.file(number)).filter((node) => node.size));
    if (children.length === 1) return { ...children[0], path: [] };
    const size = children.reduce((sum, node) => sum + node.size, 0);
    return { title: "all files", size, path: [], children: () => children };
  }

  file(number) {
    const file = this.data.files[number];
    const path = [`f${number}`];
    return { title: file.name.split("/").at(-1), size: file.size, path, tint: number, children: () => this.targets(number, path) };
  }

  targets(number, path) {
    const groups = new Map();
    const { images, files } = this.data;
    let stored = 0;
    images.file.forEach((file, image) => {
      if (file !== number) return;
      push(groups, images.kind[image] === "cubin" ? images.arch[image] || "cubin"
        : `${images.kind[image]} ${images.arch[image]}`.trim(), image);
      stored += images.stored[image];
    });
    const nodes = [...groups].map(([target, list]) => ({
      title: target, size: list.reduce((sum, image) => sum + images.stored[image], 0),
      path: [...path, `t${target}`], children: () => this.images(list, [...path, `t${target}`]),
    }));
    const rest = files[number].size - stored;
    if (rest > 0) nodes.push({ title: "no device code", size: rest, path: null, plain: true });
    return sortedNodes(nodes);
  }

  images(list, path) {
    const { images } = this.data;
    return sortedNodes(list.map((image) => ({
      title: this.data.place(image), size: images.stored[image], path: [...path, `i${image}`],
      children: images.kind[image] === "cubin" && images.size[image]
        ? () => this.functions(image, [...path, `i${image}`]) : null,
    })));
  }

  functions(image, path) {
    const { data } = this;
    const scale = data.images.stored[image] / data.images.size[image];
    const nodes = (data.functionsOf.get(image) ?? []).map((row) => ({
      title: data.name(row), size: data.sizeOf(data.own, row) * scale, path: [...path, `k${row}`],
      row, children: () => this.pieces(data.piecesOf(data.own, row), scale),
    })).filter((node) => node.size);
    const shared = data.piecesOf(data.shared, image);
    if (!nodes.length) return this.pieces(shared, scale);
    const size = shared.reduce((sum, [, own]) => sum + own, 0) * scale;
    if (size) {
      nodes.push({
        title: "shared by the module", size, path: [...path, "m"], plain: true,
        children: () => this.pieces(shared, scale),
      });
    }
    return sortedNodes(nodes);
  }

  pieces(pieces, scale) {
    return pieces.map(([kind, size]) => ({
      title: kind, size: size * scale, path: null, tint: this.kinds.indexOf(kind),
    }));
  }

  /** The nodes from the root to the one with a path, as far as there are such. */
  way(path) {
    const way = [this.root()];
    // one file stands for the root
    for (let length = way[0].children && this.data.files.length === 1 ? 2 : 1; length <= path.length; length += 1) {
      const wanted = path.slice(0, length).join("/");
      const node = way.at(-1);
      const next = node.children?.().find((child) => child.path?.join("/") === wanted);
      if (!next) {
        if (length === 1) continue;
        break;
      }
      way.push(next);
    }
    return way;
  }
}

function sortedNodes(nodes) {
  return nodes.sort((a, b) => b.size - a.size);
}

const MOST_BOXES = 240;

/** The boxes of a node's children; a box leads to the children of its own. */
function treemap(node, total, href) {
  const children = node.children();
  const shown = children.slice(0, MOST_BOXES);
  const left = children.slice(MOST_BOXES);
  if (left.length) {
    const size = left.reduce((sum, child) => sum + child.size, 0);
    shown.push({ title: `${count(left.length)} smaller ones`, size, path: null, plain: true });
    sortedNodes(shown);
  }
  const map = el("div", { class: "map", role: "group", "aria-label": `Parts of ${node.title} by size` });
  const [width, height] = [1200, 520];
  squarified(shown.map((child) => child.size), width, height).forEach(([x, y, w, h], place) => {
    const child = shown[place];
    const part = percent(child.size / total, 1);
    const leads = child.path && child.children;
    const box = el("a", {
      href: leads ? href(child) : null, tabindex: 0, role: leads ? null : "img",
      title: `${child.title}\n${bytes(child.size)}, ${part}`,
      "aria-label": `${child.title}, ${bytes(child.size)}, ${part}`,
      style: {
        left: `${(100 * x) / width}%`, top: `${(100 * y) / height}%`,
        width: `${(100 * w) / width}%`, height: `${(100 * h) / height}%`,
        backgroundColor: child.plain ? "#5d6673" : colour(child.tint ?? place),
      },
    });
    if (w * h > 5000 && leads && place < 40) box.append(...inner(child, w, h));
    if (w > 46 && h > 18) box.append(el("b", {}, child.title));
    if (w > 60 && h > 40) box.append(el("span", {}, `${bytes(child.size)} · ${part}`));
    map.append(box);
  });
  return map;
}

/** A hint of what is inside a box. */
function inner(child, width, height) {
  const parts = child.children().slice(0, 60);
  return squarified(parts.map((part) => part.size), width, height).map(([x, y, w, h]) => el("i", {
    style: {
      left: `${(100 * x) / width}%`, top: `${(100 * y) / height}%`,
      width: `${(100 * w) / width}%`, height: `${(100 * h) / height}%`,
    },
  }));
}

/** One bar whose parts are kinds of sections, and their names below. */
function kindBar(pieces, kinds) {
  const total = pieces.reduce((sum, [, size]) => sum + size, 0);
  const tint = (kind) => colour(Math.max(0, kinds.indexOf(kind)));
  return [
    el("div", { class: "bar", "aria-hidden": true }, pieces.map(([kind, size]) => el("i", {
      style: { width: `${(100 * size) / total}%`, backgroundColor: tint(kind) }, title: kind,
    }))),
    table(["", "bytes", "share"], pieces.map(([kind, size]) => [
      el("span", {}, el("i", { class: "swatch", style: { backgroundColor: tint(kind) } }), kind),
      { number: count(size) }, { number: percent(size / total, 1) },
    ])),
  ];
}
