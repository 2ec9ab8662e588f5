-- Print the kernels of cubins with their registers and parameters.
require("cuda_codes")
require("elf_cuda")

local INFO = CudaCodes.SectionType.sht_cuda_info
local Code = CudaCodes.EiattrCode

local function cubin(elf)
  local registers, kernels = {}, {} -- the first by the number of a function's symbol
  for _, section in ipairs(elf.sections) do
    for _, record in ipairs(section.sh_type == INFO and section.body.records or {}) do
      if record.code == Code.eiattr_regcount then
        registers[record.payload.symbol] = record.payload.number
      elseif record.code == Code.eiattr_maxreg_count then -- each kernel has it, and nothing else
        table.insert(kernels, section)
      end
    end
  end
  for _, section in ipairs(kernels) do
    local symbol = elf.sections[section.sh_info + 1].function_symbol
    print(section.name:sub(#".nv.info." + 1) .. " " .. registers[symbol])
    for _, record in ipairs(section.body.records) do
      if record.code == Code.eiattr_kparam_info or record.code == Code.eiattr_kparam_info_v2 then
        local payload = record.payload
        print("  " .. payload.ordinal .. " " .. payload.offset .. " " .. payload.bits.len_parameter)
      end
    end
  end
end

for _, path in ipairs(arg) do
  print(path .. ":")
  cubin(ElfCuda:from_file(path))
end
