# Print the sections, attributes, symbols and relocations of cubins and fatbins.
require "elf_cuda"
require "fatbin"

# A code is a symbol when it has a name, else its number.
def number(names, code)
  code.is_a?(Symbol) ? names[code] : code
end

def attributes(index, records)
  records.each do |record|
    format = number(CudaCodes::I__EIFMT, record.format)
    code = number(CudaCodes::I__EIATTR_CODE, record.code)
    puts "A #{index} #{format} #{code} #{record.value}"
    if code == 0x2f && format == 4 # registers of a kernel
      puts "K #{record.payload.symbol} #{record.payload.number}"
    end
  end
end

def symbols(index, table)
  table.symbols.each do |row|
    type = number(CudaCodes::I__ST_TYPE, row.st_info.symbol_type)
    binding = number(CudaCodes::I__ST_BIND, row.st_info.binding)
    puts "Y #{index} #{row.name} #{row.st_value} #{row.st_size} #{row.st_shndx} #{type} #{binding}"
  end
end

def relocations(index, table)
  table.relocations.each do |row|
    info = row.respond_to?(:r_info) ? row.r_info : row
    addend = row.respond_to?(:r_addend) ? row.r_addend : 0
    type = number(CudaCodes::I__RELOCATION_TYPE, info.r_type)
    puts "R #{index} #{row.r_offset} #{type} #{info.r_sym} #{addend}"
  end
end

def body(index, content)
  case content
  when Mercury then body(index, content.content)
  when Eiattr then attributes(index, content.records)
  when ElfCuda::Symbols, Mercury::Symbols then symbols(index, content.table)
  when ElfCuda::Rel, ElfCuda::Rela, Mercury::Relocations then relocations(index, content.table)
  end
end

def cubin(elf)
  elf.sections.each_with_index do |section, index|
    type = number(CudaCodes::I__SECTION_TYPE, section.sh_type)
    puts "S #{index} #{section.name} #{type} #{section.sh_offset} #{section.sh_size}"
    body(index, section.body) if section.is_in_file
  end
end

def fatbin(file)
  file.blocks.select { |block| block.magic_kind == 1 }.each do |block|
    block.content.entries.entries.each do |entry|
      kind = number(CudaCodes::I__FATBIN_KIND, entry.head.kind)
      puts "E #{kind} #{entry.head.sm} #{entry.head.len_payload}"
      cubin(entry.payload) if entry.payload_kind == 2
    end
  end
end

ARGV.each do |path|
  puts "F #{path}"
  path.end_with?(".fatbin") ? fatbin(Fatbin.from_file(path)) : cubin(ElfCuda.from_file(path))
end
