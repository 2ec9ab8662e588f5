// Print the sections, attributes, symbols and relocations of cubins and fatbins.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
#if __cplusplus >= 201103L
#include <memory>
#endif

#include "elf_cuda.h"
#include "fatbin.h"
#include "rel_table_32.h"
#include "rel_table_64.h"
#include "rela_table_32.h"
#include "rela_table_64.h"
#include "symbol_table_32.h"
#include "symbol_table_64.h"

using std::cout;

// A record of a list: the compiler writes bare pointers for C++98, smart ones for C++11.
template <class T>
static T* record(T* pointer) {
    return pointer;
}
#if __cplusplus >= 201103L
template <class T>
static T* record(const std::unique_ptr<T>& pointer) {
    return pointer.get();
}
#endif

static void attributes(int index, eiattr_t* body) {
    for (size_t i = 0; i < body->records()->size(); i++) {
        eiattr_t::info_record_t* info = record(body->records()->at(i));
        cout << "A " << index << ' ' << int(info->format()) << ' ' << int(info->code()) << ' '
             << info->value() << '\n';
        if (info->_is_null_payload()) continue;  // then the pointer is not set
        eiattr_t::function_value_t* value =
            dynamic_cast<eiattr_t::function_value_t*>(info->payload());
        if (info->code() == cuda_codes_t::EIATTR_CODE_EIATTR_REGCOUNT && value)
            cout << "K " << value->symbol() << ' ' << value->number() << '\n';
    }
}

template <class Row, class Rows>
static void print_symbols(int index, const Rows* rows) {
    for (size_t i = 0; i < rows->size(); i++) {
        Row* row = record(rows->at(i));
        cout << "Y " << index << ' ' << row->name() << ' ' << row->st_value() << ' '
             << row->st_size() << ' ' << row->st_shndx() << ' '
             << int(row->st_info()->symbol_type()) << ' ' << int(row->st_info()->binding()) << '\n';
    }
}

static void symbols(int index, kaitai::kstruct* table) {
    if (symbol_table_64_t* wide = dynamic_cast<symbol_table_64_t*>(table))
        print_symbols<symbol_table_64_t::symbol_64_t>(index, wide->symbols());
    else if (symbol_table_32_t* narrow = dynamic_cast<symbol_table_32_t*>(table))
        print_symbols<symbol_table_32_t::symbol_32_t>(index, narrow->symbols());
}

template <class Row>
static void relocation(int index, const Row* row, int type, unsigned symbol, long long addend) {
    cout << "R " << index << ' ' << row->r_offset() << ' ' << type << ' ' << symbol << ' ' << addend
         << '\n';
}

static void relocations(int index, kaitai::kstruct* table) {
    if (rela_table_64_t* wide = dynamic_cast<rela_table_64_t*>(table)) {
        for (size_t i = 0; i < wide->relocations()->size(); i++) {
            rela_table_64_t::rela_64_t* row = record(wide->relocations()->at(i));
            relocation(index, row, row->r_type(), row->r_sym(), row->r_addend());
        }
    } else if (rel_table_64_t* bare = dynamic_cast<rel_table_64_t*>(table)) {
        for (size_t i = 0; i < bare->relocations()->size(); i++) {
            rel_table_64_t::rel_64_t* row = record(bare->relocations()->at(i));
            relocation(index, row, row->r_type(), row->r_sym(), 0);
        }
    } else if (rela_table_32_t* narrow = dynamic_cast<rela_table_32_t*>(table)) {
        for (size_t i = 0; i < narrow->relocations()->size(); i++) {
            rela_table_32_t::rela_32_t* row = record(narrow->relocations()->at(i));
            relocation(index, row, row->r_info()->r_type(), row->r_info()->r_sym(),
                       row->r_addend());
        }
    } else if (rel_table_32_t* least = dynamic_cast<rel_table_32_t*>(table)) {
        for (size_t i = 0; i < least->relocations()->size(); i++) {
            rel_table_32_t::rel_32_t* row = record(least->relocations()->at(i));
            relocation(index, row, row->r_info()->r_type(), row->r_info()->r_sym(), 0);
        }
    }
}

static void body(int index, kaitai::kstruct* content) {
    if (mercury_t* mercury = dynamic_cast<mercury_t*>(content))
        body(index, mercury->content());
    else if (eiattr_t* info = dynamic_cast<eiattr_t*>(content))
        attributes(index, info);
    else if (elf_cuda_t::symbols_t* table = dynamic_cast<elf_cuda_t::symbols_t*>(content))
        symbols(index, table->table());
    else if (mercury_t::symbols_t* twin = dynamic_cast<mercury_t::symbols_t*>(content))
        symbols(index, twin->table());
    else if (elf_cuda_t::rel_t* rel = dynamic_cast<elf_cuda_t::rel_t*>(content))
        relocations(index, rel->table());
    else if (elf_cuda_t::rela_t* rela = dynamic_cast<elf_cuda_t::rela_t*>(content))
        relocations(index, rela->table());
    else if (mercury_t::relocations_t* twins = dynamic_cast<mercury_t::relocations_t*>(content))
        relocations(index, twins->table());
}

static void cubin(elf_cuda_t* elf) {
    for (size_t i = 0; i < elf->sections()->size(); i++) {
        elf_cuda_t::section_t* section = record(elf->sections()->at(i));
        cout << "S " << i << ' ' << section->name() << ' ' << int(section->sh_type()) << ' '
             << section->sh_offset() << ' ' << section->sh_size() << '\n';
        if (section->is_in_file()) body(int(i), section->body());
    }
}

static void fatbin(fatbin_t* file) {
    for (size_t i = 0; i < file->blocks()->size(); i++) {
        fatbin_t::fat_block_t* block = record(file->blocks()->at(i));
        fatbin_t::container_t* container = dynamic_cast<fatbin_t::container_t*>(block->content());
        for (size_t j = 0; container && j < container->entries()->entries()->size(); j++) {
            fatbin_t::entry_t* entry = record(container->entries()->entries()->at(j));
            cout << "E " << int(entry->head()->kind()) << ' ' << entry->head()->sm() << ' '
                 << entry->head()->len_payload() << '\n';
            if (elf_cuda_t* elf = dynamic_cast<elf_cuda_t*>(entry->payload())) cubin(elf);
        }
    }
}

int main(int count, char** paths) {
    std::ios::sync_with_stdio(false);
    for (int i = 1; i < count; i++) {
        const std::string path = paths[i];
        cout << "F " << path << '\n';
        std::ifstream file(paths[i], std::ios::binary);
        kaitai::kstream stream(&file);
        if (path.size() > 7 && path.substr(path.size() - 7) == ".fatbin") {
            fatbin_t images(&stream);
            fatbin(&images);
        } else {
            elf_cuda_t elf(&stream);
            cubin(&elf);
        }
    }
}
