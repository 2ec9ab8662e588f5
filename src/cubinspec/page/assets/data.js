// The data of the page, and questions about it that several views ask.

/** Unpack the JSON that stands in the page. */
async function load() {
  const packed = document.getElementById("data");
  const raw = Uint8Array.from(atob(packed.textContent), (character) => character.charCodeAt(0));
  packed.remove();
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Answers from the columns of the document. */
class Data {
  constructor(document) {
    Object.assign(this, document);
    if (!this.functions) return;
    this.count = this.functions.image.length;
    this.functionsOf = new Map();
    this.byName = new Map();
    const { image, name } = this.functions;
    for (let row = 0; row < this.count; row += 1) {
      push(this.functionsOf, image[row], row);
      push(this.byName, name[row], row);
    }
    this.own = unpacked(this.pieces.own);
    this.shared = unpacked(this.pieces.shared);
    this.callsAt = new Map();
    this.calls.forEach((graph, number) => graph.functions.forEach((row, node) => {
      if (row !== null) this.callsAt.set(row, { graph: number, node });
    }));
  }

  name(row) {
    const number = this.functions.name[row];
    return this.readable[number] ?? this.names[number];
  }

  mangled(row) {
    return this.names[this.functions.name[row]];
  }

  arch(row) {
    return this.images.arch[this.functions.image[row]];
  }

  occupancy(row) {
    const number = this.functions.occupancies[row];
    return number === null ? null : this.occupancies[number];
  }

  paramCount(row) {
    return this.params[this.functions.params[row]].length;
  }

  /** What an image is called: its way in the file, else the file. */
  place(image) {
    return this.images.path[image] || this.files[this.images.file[image]].name;
  }

  /** Kind of section -> bytes, largest first, of a function or of the rest of an image. */
  piecesOf(columns, row) {
    return [...columns].map(([kind, sizes]) => [kind, sizes.get(row) ?? 0])
      .filter(([, size]) => size).sort((a, b) => b[1] - a[1]);
  }

  sizeOf(columns, row) {
    let sum = 0;
    for (const sizes of columns.values()) sum += sizes.get(row) ?? 0;
    return sum;
  }

  kernels() {
    if (!this.kernelRows) {
      this.kernelRows = [];
      this.functions.is_kernel.forEach((is, row) => is && this.kernelRows.push(row));
    }
    return this.kernelRows;
  }
}

function push(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function unpacked(columns) {
  return new Map(Object.entries(columns).map(([kind, [rows, sizes]]) =>
    [kind, new Map(rows.map((row, place) => [row, sizes[place]]))]));
}

/** A test for texts: all words of the query, or an expression after "re:". */
function searcher(query) {
  const text = query.trim();
  if (text.startsWith("re:")) {
    try {
      const expression = new RegExp(text.slice(3), "i");
      return (name) => expression.test(name);
    } catch {
      return null;
    }
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (name) => {
    const low = name.toLowerCase();
    return words.every((word) => low.includes(word));
  };
}
