// Print the sections, attributes, symbols and relocations of cubins and fatbins.
"use strict";
const fs = require("fs");
const KaitaiStream = require("kaitai-struct/KaitaiStream");
const { ElfCuda } = require("./ElfCuda");
const { Fatbin } = require("./Fatbin");

const lines = [];
const print = (...words) => lines.push(words.join(" "));
// Contents of a Mercury table -> the same kind of section in the SASS half.
const MERCURY_TWIN = [0, 2, 4, 7, 0, 0, 0, 0, 0];
const REGCOUNT = 0x2f;

function attributes(index, records) {
  for (const record of records) {
    print("A", index, record.format, record.code, record.value);
    if (record.code === REGCOUNT && record.format === 4)
      print("K", record.payload.symbol, record.payload.number);
  }
}

function symbols(index, table) {
  for (const symbol of table.symbols)
    print("Y", index, symbol.name, symbol.stValue, symbol.stSize, symbol.stShndx,
      symbol.stInfo.symbolType, symbol.stInfo.binding);
}

function relocations(index, table) {
  for (const row of table.relocations) {
    const info = row.rInfo ?? row;
    print("R", index, row.rOffset, info.rType, info.rSym, row.rAddend ?? 0);
  }
}

function cubin(elf) {
  elf.sections.forEach((section, index) => {
    print("S", index, section.name, section.shType, section.shOffset, section.shSize);
    if (!section.isInFile) return;
    const isMercury = section.bodyKind === 15 || section.bodyKind === 22;
    const kind = isMercury ? MERCURY_TWIN[section.mercuryKind] : section.bodyKind;
    const body = isMercury ? section.body.content : section.body;
    if (kind === 7) attributes(index, body.records);
    else if (kind === 2) symbols(index, body.table);
    else if (kind === 3 || kind === 4) relocations(index, body.table);
  });
}

function fatbin(file) {
  for (const block of file.blocks.filter((block) => block.magicKind === 1))
    for (const entry of block.content.entries.entries) {
      print("E", entry.head.kind, entry.head.sm, entry.head.lenPayload);
      if (entry.payloadKind === 2) cubin(entry.payload);
    }
}

for (const path of process.argv.slice(2)) {
  print("F", path);
  const stream = new KaitaiStream(new Uint8Array(fs.readFileSync(path)).buffer);
  if (path.endsWith(".fatbin")) fatbin(new Fatbin(stream));
  else cubin(new ElfCuda(stream));
}
fs.writeSync(1, lines.join("\n") + "\n");
