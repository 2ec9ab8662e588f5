# Print the kernels of cubins with their registers and parameters.
import std/[os, tables]
import cuda_codes, eiattr, elf_cuda

proc cubin(elf: ElfCuda) =
  var registers: Table[int, int] # by the number of a function's symbol
  var kernels: seq[ElfCuda_Section]
  let sections = elf.sections
  for section in sections:
    if section.shType != sht_cuda_info: continue
    for record in Eiattr(section.body).records:
      if record.code == eiattr_regcount:
        let value = Eiattr_FunctionValue(record.payload)
        registers[int(value.symbol)] = int(value.number)
      elif record.code == eiattr_maxreg_count: # each kernel has it, and no other function
        kernels.add(section)
  for section in kernels:
    let symbol = sections[section.shInfo].functionSymbol
    echo section.name[len(".nv.info.")..^1], " ", registers[int(symbol)]
    for record in Eiattr(section.body).records:
      if record.code == eiattr_kparam_info:
        let payload = Eiattr_KparamInfo(record.payload)
        echo "  ", payload.ordinal, " ", payload.offset, " ", payload.bits.lenParameter
      elif record.code == eiattr_kparam_info_v2:
        let payload = Eiattr_KparamInfoV2(record.payload)
        echo "  ", payload.ordinal, " ", payload.offset, " ", payload.bits.lenParameter

for path in commandLineParams():
  echo path, ":"
  cubin(ElfCuda.fromFile(path))
