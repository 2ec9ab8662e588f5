// Files that hold cubins: fatbins and whatever has fatbins or bare cubins in it, by magic numbers.

import { decompress as unzstd } from "fzstd";
import { decompress as unlz4Frame, decompressBlock } from "lz4js";
import knowledge from "./knowledge.json";
import { classes, endOf, KaitaiStream, parse, placeOf, startOf } from "./fields.js";
import { hostOf, sectionAt } from "./hosts.js";

const { FATBIN_MAGIC, EM_CUDA } = knowledge.numbers;
/** The four bytes that start every ELF file, as one little-endian word. */
const ELF_MAGIC = 0x464c457f;
/** Where an ELF header has its machine. */
const MACHINE_AT = 18;
/** Version and size of a container's header, behind its magic. */
const CONTAINER_START = "1,0,16,0";
/** Bytes that one image may have when decompressed. */
const MOST_BYTES = 512 * 1024 * 1024;
const SCHEMES = { isZstd: "zstd", isLz4: "lz4", isLz4Frame: "lz4-frame", isZlib: "zlib" };

/** True when a cubin starts here. */
export function isCubin(bytes, at = 0) {
  if (at + MACHINE_AT + 2 > bytes.length) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at);
  return view.getUint32(0, true) === ELF_MAGIC && view.getUint16(MACHINE_AT, true) === EM_CUDA;
}

/** Finds a word at any byte: members of archives begin anywhere. */
class Finder {
  /** `rare`: which byte of the word is looked for, one that few files are full of. */
  constructor(bytes, word, rare) {
    this.bytes = bytes;
    this.rare = rare;
    this.parts = [0, 8, 16, 24].map((shift) => (word >>> shift) & 0xff);
    this.place = -1;
  }

  /** The first place from `at` on; the length of the file when there is none. */
  from(at) {
    while (this.place < at) {
      const next = this.bytes.indexOf(this.parts[this.rare], Math.max(at, this.place + 1) + this.rare);
      if (next < 0) this.place = this.bytes.length;
      else {
        this.place = next - this.rare;
        if (!this.parts.every((part, number) => this.bytes[this.place + number] === part)) at = this.place + 1;
      }
    }
    return this.place;
  }
}

/** Everything of device code in a file that is no cubin itself. */
export function findImages(bytes) {
  const found = { containers: [], images: [], faults: [], host: hostOf(bytes) };
  const fatbins = new Finder(bytes, FATBIN_MAGIC, 1);
  const elves = new Finder(bytes, ELF_MAGIC, 0);
  for (let at = 0; ;) {
    at = Math.min(fatbins.from(at), elves.from(at));
    if (at >= bytes.length) break;
    let end = 0;
    if (at === fatbins.place) end = addContainer(bytes, at, found);
    else if (isCubin(bytes, at)) end = addCubin(bytes, at, found);
    at = end > at ? end : at + 1;
  }
  for (const image of found.images) image.section = sectionAt(found.host, image.start);
  return found;
}

/** A container with its entries; the end of what it has, or 0 when it is none. */
function addContainer(bytes, at, found) {
  // code holds the magic as a number, too
  const isHeader = bytes.slice(at + 4, at + 8).join() === CONTAINER_START;
  if (at > 0 && !isHeader) return 0;
  const stream = new KaitaiStream(bytes.buffer);
  const content = new classes.Fatbin.Container(stream, null, null);
  let fault = null;
  try {
    stream.seek(at + 4);
    content._read();
  } catch (error) {
    fault = error;
  }
  const entries = content.entries?.entries ?? [];
  if (entries.length === 0) return 0;
  const number = found.containers.length;
  // a broken entry ends the list, and what follows the container is looked through as well
  const told = content.head.lenHeader + content.head.lenEntries;
  const end = Math.min(bytes.length, endOf(placeOf(content, "entries")) || at + told);
  found.containers.push({ content, start: at, end });
  if (fault) found.faults.push(`fatbin ${number} at 0x${at.toString(16)}: ${fault.message ?? fault}`);
  entries.forEach((entry, index) => {
    const image = imageOf(bytes, entry, `fatbin ${number} → entry ${index}`);
    if (image) found.images.push(image);
  });
  return end;
}

function imageOf(bytes, entry, label) {
  const place = placeOf(entry, "payload");
  const { head } = entry;
  if (!head?.flags || place?.start === undefined) return null;
  const { flags } = head;
  const schemes = Object.entries(SCHEMES).filter(([flag]) => flags[flag]);
  const variant = flags.isArchSpecific ? "a" : flags.isFamilySpecific ? "f" : "";
  const kind = (classes.CudaCodes.FatbinKind[head.kind] ?? `kind ${head.kind}`)
    .replace("FATBIN_KIND_", "").toLowerCase();
  const start = startOf(place);
  const room = bytes.length - start;
  const stored = Math.min(head.lenPayload, room);
  return {
    label,
    kind: kind.startsWith("elf") ? "cubin" : kind,
    arch: `${kind === "ptx" ? "compute" : "sm"}_${head.sm}${variant}`,
    start,
    stored,
    size: schemes.length ? head.lenUncompressed : stored,
    scheme: schemes[0]?.[1] ?? "",
    scrambled: flags.isScrambled,
    packed: schemes.length ? bytes.subarray(start, start + Math.min(head.lenCompressed, room)) : null,
    plain: bytes.subarray(start, start + stored),
  };
}

/** A cubin that lies bare in a file. */
function addCubin(bytes, at, found) {
  try {
    const root = parse("ElfCuda", bytes.subarray(at));
    const end = Math.min(bytes.length - at, endOfCubin(root));
    found.images.push({
      label: `cubin at 0x${at.toString(16)}`,
      kind: "cubin",
      arch: archOf(root),
      start: at,
      stored: end,
      size: end,
      scheme: "",
      plain: bytes.subarray(at, at + end),
    });
    return at + end;
  } catch (error) {
    found.faults.push(`cubin at 0x${at.toString(16)}: ${error.message ?? error}`);
    return 0;
  }
}

/** Where the last table or section of a cubin ends. */
function endOfCubin(root) {
  let end = Math.max(
    root.eShoff + root.numSectionHeaders * root.lenSectionHeader,
    root.ePhoff + root.numProgramHeaders * root.lenProgramHeader,
    root._io.pos,
  );
  for (const section of root.sections) end = Math.max(end, section.ofsBody + section.lenBody);
  return end;
}

/** Target of a cubin, such as sm_90a: the flags or `.nv.compat` say whether it is for one GPU only. */
export function archOf(root) {
  const flags = root.flagsAbi8 ?? root.flagsAbi7;
  if (!flags) return "";
  const family = knowledge.families.findLast(({ first }) => flags.sm >= first);
  const said = (flags.isArchSpecific && family?.variant_in_flags) || saysArchSpecific(root);
  return `sm_${flags.sm}${said ? "a" : ""}`;
}

function saysArchSpecific(root) {
  const { SectionType, CompatCode } = classes.CudaCodes;
  const compat = root.sections.find(({ shType }) => shType === SectionType.SHT_CUDA_COMPAT_INFO);
  return compat?.body.records.some(
    ({ code, value }) => code === CompatCode.EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET && value === 1);
}

/** The bytes of an image; an Error says why there are none. */
export async function contentsOf(image) {
  if (!image.scheme) return image.plain.slice();
  if (image.scrambled) throw new Error("the entry is scrambled; nobody but NVIDIA's tools reads it");
  if (!(image.size > 0 && image.size <= MOST_BYTES))
    throw new Error(`the entry says that it has ${image.size} bytes; expected up to ${MOST_BYTES}`);
  const data = await unpack(image);
  if (data.length !== image.size)
    throw new Error(`the entry has ${data.length} bytes when decompressed, expected ${image.size}`);
  return data;
}

async function unpack({ scheme, packed, size }) {
  if (scheme === "zstd") return unzstd(packed, new Uint8Array(size));
  if (scheme === "lz4-frame") return Uint8Array.from(unlz4Frame(packed, size));
  if (scheme === "lz4") {
    const out = new Uint8Array(size);
    return out.subarray(0, decompressBlock(packed, out, 0, packed.length, 0));
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return limited(stream, size);
}

/** The bytes of a stream, which may not be more than was told. */
async function limited(stream, size) {
  const out = new Uint8Array(size);
  let at = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return out.subarray(0, at);
    if (at + value.length > size) throw new Error(`more than ${size} bytes come out of the entry`);
    out.set(value, at);
    at += value.length;
  }
}
