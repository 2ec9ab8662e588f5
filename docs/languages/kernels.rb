# Print the kernels of cubins with their registers and parameters.
require "elf_cuda"

PARAMETERS = [:eiattr_code_eiattr_kparam_info, :eiattr_code_eiattr_kparam_info_v2].freeze

def cubin(elf)
  sections = elf.sections.select { |section| section.sh_type == :section_type_sht_cuda_info }
  registers = {} # by the number of a function's symbol
  sections.flat_map { |section| section.body.records }.each do |record|
    next if record.code != :eiattr_code_eiattr_regcount
    registers[record.payload.symbol] = record.payload.number
  end
  sections.each do |section|
    records = section.body.records
    # each kernel has this attribute, no other function does
    next if records.none? { |record| record.code == :eiattr_code_eiattr_maxreg_count }
    symbol = elf.sections[section.sh_info].function_symbol
    puts "#{section.name.delete_prefix('.nv.info.')} #{registers[symbol]}"
    records.select { |record| PARAMETERS.include?(record.code) }.each do |record|
      payload = record.payload
      puts "  #{payload.ordinal} #{payload.offset} #{payload.bits.len_parameter}"
    end
  end
end

ARGV.each do |path|
  puts "#{path}:"
  cubin(ElfCuda.from_file(path))
end
