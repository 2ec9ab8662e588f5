-- Print the sections, attributes, symbols and relocations of cubins and fatbins.
require("elf_cuda")
require("fatbin")

local function print_line(form, ...)
  io.write(string.format(form, ...), "\n")
end

-- A code is a table when it has a name, else its number.
local function number(code)
  return type(code) == "table" and code.value or code
end

-- Whole numbers have a sign in Lua.
local function unsigned(value)
  if value >= 0 then
    return tostring(value)
  end
  local tens = (value >> 1) // 5
  return string.format("%d%d", tens, value - tens * 10)
end

local function attributes(index, records)
  for _, record in ipairs(records) do
    local format, code = number(record.format), number(record.code)
    print_line("A %d %d %d %d", index, format, code, record.value)
    if code == 0x2f and format == 4 then -- registers of a kernel
      print_line("K %d %d", record.payload.symbol, record.payload.number)
    end
  end
end

local function symbols(index, rows)
  for _, row in ipairs(rows) do
    print_line("Y %d %s %s %s %d %d %d", index, row.name or "", unsigned(row.st_value),
      unsigned(row.st_size), row.st_shndx, number(row.st_info.symbol_type), number(row.st_info.binding))
  end
end

local function relocations(index, rows)
  for _, row in ipairs(rows) do
    local info = row.r_info or row
    print_line("R %d %d %d %d %d", index, row.r_offset, number(info.r_type), info.r_sym,
      row.r_addend or 0)
  end
end

local function cubin(elf)
  for place, section in ipairs(elf.sections) do
    local index = place - 1
    print_line("S %d %s %d %d %d", index, section.name or "", number(section.sh_type),
      section.sh_offset, section.sh_size)
    if section.is_in_file then
      local kind, twin, body = section.body_kind, section.mercury_kind, section.body
      if kind == 15 or kind == 22 then -- a table of the Mercury half
        body = body.content
      end
      if kind == 7 or twin == 3 then
        attributes(index, body.records)
      elseif kind == 2 or twin == 1 then
        symbols(index, body.table.symbols)
      elseif kind == 3 or kind == 4 or twin == 2 then
        relocations(index, body.table.relocations)
      end
    end
  end
end

local function fatbin(file)
  for _, block in ipairs(file.blocks) do
    if block.magic_kind == 1 then
      for _, entry in ipairs(block.content.entries.entries) do
        print_line("E %d %d %d", number(entry.head.kind), entry.head.sm, entry.head.len_payload)
        if entry.payload_kind == 2 then
          cubin(entry.payload)
        end
      end
    end
  end
end

for _, path in ipairs(arg) do
  print_line("F %s", path)
  if path:match("%.fatbin$") then
    fatbin(Fatbin:from_file(path))
  else
    cubin(ElfCuda:from_file(path))
  end
end
