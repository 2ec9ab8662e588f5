// Print the kernels of cubins with their registers and parameters, in C++98 and later.
#include <fstream>
#include <iostream>
#include <map>
#include "elf_cuda.h"

typedef eiattr_t::function_value_t value_t;

template <class Parameter>
static void print(kaitai::kstruct* payload) {
    if (Parameter* p = dynamic_cast<Parameter*>(payload))
        std::cout << "  " << p->ordinal() << ' ' << p->offset() << ' ' << p->bits()->len_parameter() << '\n';
}

static void cubin(elf_cuda_t& elf) {
    std::map<unsigned, unsigned> registers;  // by the number of a function's symbol
    std::map<size_t, eiattr_t*> kernels;
    for (size_t i = 0; i < elf.sections()->size(); i++) {
        if (elf.sections()->at(i)->sh_type() != cuda_codes_t::SECTION_TYPE_SHT_CUDA_INFO) continue;
        eiattr_t* info = static_cast<eiattr_t*>(elf.sections()->at(i)->body());
        for (size_t j = 0; j < info->records()->size(); j++) {
            eiattr_t::info_record_t& record = *info->records()->at(j);
            if (record.code() == cuda_codes_t::EIATTR_CODE_EIATTR_REGCOUNT) {
                value_t* value = static_cast<value_t*>(record.payload());
                registers[value->symbol()] = value->number();
            }
            // each kernel has this attribute, no other function does
            if (record.code() == cuda_codes_t::EIATTR_CODE_EIATTR_MAXREG_COUNT) kernels[i] = info;
        }
    }
    for (std::map<size_t, eiattr_t*>::iterator at = kernels.begin(); at != kernels.end(); ++at) {
        elf_cuda_t::section_t& section = *elf.sections()->at(at->first);
        unsigned symbol = elf.sections()->at(section.sh_info())->function_symbol();
        std::cout << section.name().substr(9) << ' ' << registers[symbol] << '\n';  // .nv.info.NAME
        for (size_t j = 0; j < at->second->records()->size(); j++) {
            eiattr_t::info_record_t& record = *at->second->records()->at(j);
            if (record._is_null_payload()) continue;  // then the pointer is not set
            print<eiattr_t::kparam_info_t>(record.payload());
            print<eiattr_t::kparam_info_v2_t>(record.payload());
        }
    }
}

int main(int count, char** paths) {
    for (int i = 1; i < count; i++) {
        std::cout << paths[i] << ":\n";
        std::ifstream file(paths[i], std::ios::binary);
        kaitai::kstream stream(&file);
        elf_cuda_t elf(&stream);
        cubin(elf);
    }
}
