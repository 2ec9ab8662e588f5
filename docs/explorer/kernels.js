// The kernels of a cubin with what they take: the figures of `cubinspec kernels`.

import { classes } from "./fields.js";
import knowledge from "./knowledge.json";

const { CudaCodes } = classes;
const CODE = CudaCodes.EiattrCode;
const TYPE = CudaCodes.SectionType;
/** Attributes of the file that name a function, by what they tell. */
const KEYED = {
  [CODE.EIATTR_REGCOUNT]: "registers",
  [CODE.EIATTR_MIN_STACK_SIZE]: "minStack",
  [CODE.EIATTR_FRAME_SIZE]: "frame",
};
const { STACK_SIZE_UNKNOWN } = knowledge.numbers;

/** One object per kernel, in the order of the symbol table. */
export function kernelsOf(root) {
  const found = collect(root);
  return symbolsOf(root)
    .filter((symbol) => symbol.stInfo.symbolType === CudaCodes.StType.STT_FUNC
      && symbol.stOther.isEntryOrUnifiedObject)
    .map((symbol) => kernel(root, symbol, found));
}

function symbolsOf(root) {
  const table = root.sections.find((section) => section.shType === TYPE.SHT_SYMTAB);
  if (!table) return [];
  const { symbols } = table.body.table;
  symbols.forEach((symbol, index) => { symbol.index = index; });
  return symbols;
}

/** What sections say of the functions that they name in sh_info. */
function collect(root) {
  const found = { registers: {}, minStack: {}, frame: {}, info: {}, shared: {}, local: {}, const0: {} };
  root.sections.forEach((section) => {
    const { name = "", shInfo: code, shSize: size, shType: type } = section;
    if (type === TYPE.SHT_CUDA_INFO) {
      if (code) found.info[code] = section;
      else keyed(section, found);
    } else if (section.isMercury || !code) {
      // the Mercury half tells the same once more
    } else if (name.startsWith(".nv.shared.")) found.shared[code] = size;
    else if (name.startsWith(".nv.local.")) found.local[code] = size;
    else if (name.startsWith(".nv.constant0.")) found.const0[code] = size;
  });
  return found;
}

function keyed(section, found) {
  for (const record of section.body.records) {
    const what = KEYED[record.code];
    if (what && record.payload?.symbol !== undefined)
      found[what][record.payload.symbol] = record.payload.number;
  }
}

function kernel(root, symbol, found) {
  const code = symbol.stShndx;
  const section = root.sections[code];
  const records = found.info[code]?.body.records ?? [];
  const record = (wanted) => records.findLast((each) => each.code === wanted);
  const params = records.filter((each) => each.code === CODE.EIATTR_KPARAM_INFO
    || each.code === CODE.EIATTR_KPARAM_INFO_V2).length;
  const minStack = found.minStack[symbol.index];
  const threads = record(CODE.EIATTR_MAX_THREADS) ?? record(CODE.EIATTR_REQNTID);
  return {
    name: symbol.name,
    offset: section ? section.ofsBody + symbol.stValue : 0,
    registers: found.registers[symbol.index] ?? section?.numRegisters,
    stack: minStack === undefined ? found.frame[symbol.index]
      : minStack === STACK_SIZE_UNKNOWN ? undefined : minStack,
    shared: found.shared[code] ?? 0,
    local: found.local[code] ?? 0,
    const0: found.const0[code],
    barriers: record(CODE.EIATTR_NUM_BARRIERS)?.value ?? section?.numBarriers,
    threads: product(threads?.payload),
    params,
    paramBytes: record(CODE.EIATTR_CBANK_PARAM_SIZE)?.value,
    codeBytes: symbol.stSize,
  };
}

function product(shape) {
  const sides = [shape?.x, shape?.y, shape?.z];
  return sides.includes(undefined) ? undefined : sides.reduce((all, side) => all * side, 1);
}
