"""Print the kernels of cubins with their registers and parameters."""

import sys

from cubinspec_generated.kaitai.cuda_codes import CudaCodes
from cubinspec_generated.kaitai.elf_cuda import ElfCuda

INFO = CudaCodes.SectionType.sht_cuda_info
Code = CudaCodes.EiattrCode


def cubin(elf):
    sections = [section for section in elf.sections if section.sh_type == INFO]
    registers = {}  # by the number of a function's symbol
    for section in sections:
        for record in section.body.records:
            if record.code == Code.eiattr_regcount:
                registers[record.payload.symbol] = record.payload.number
    for section in sections:
        records = section.body.records
        # each kernel has this attribute, no other function does
        if any(record.code == Code.eiattr_maxreg_count for record in records):
            symbol = elf.sections[section.sh_info].function_symbol
            print(section.name.removeprefix(".nv.info."), registers[symbol])
            for record in records:
                if record.code in (Code.eiattr_kparam_info, Code.eiattr_kparam_info_v2):
                    payload = record.payload
                    print(" ", payload.ordinal, payload.offset, payload.bits.len_parameter)


for path in sys.argv[1:]:
    print(f"{path}:")
    cubin(ElfCuda.from_file(path))
