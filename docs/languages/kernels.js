// Print the kernels of cubins with their registers and parameters.
"use strict";
const fs = require("fs");
const KaitaiStream = require("kaitai-struct/KaitaiStream");
const { CudaCodes, ElfCuda } = require("./index");

const INFO = CudaCodes.SectionType.SHT_CUDA_INFO;
const Code = CudaCodes.EiattrCode;

function cubin(elf) {
  const sections = elf.sections.filter((section) => section.shType === INFO);
  const registers = {}; // by the number of a function's symbol
  for (const section of sections)
    for (const { code, payload } of section.body.records)
      if (code === Code.EIATTR_REGCOUNT) registers[payload.symbol] = payload.number;
  for (const section of sections) {
    const records = section.body.records;
    // each kernel has this attribute, no other function does
    if (!records.some(({ code }) => code === Code.EIATTR_MAXREG_COUNT)) continue;
    const symbol = elf.sections[section.shInfo].functionSymbol;
    console.log(section.name.slice(".nv.info.".length), registers[symbol]);
    for (const { code, payload } of records)
      if (code === Code.EIATTR_KPARAM_INFO || code === Code.EIATTR_KPARAM_INFO_V2)
        console.log(" ", payload.ordinal, payload.offset, payload.bits.lenParameter);
  }
}

for (const path of process.argv.slice(2)) {
  console.log(`${path}:`);
  cubin(new ElfCuda(new KaitaiStream(new Uint8Array(fs.readFileSync(path)).buffer)));
}
