// Print the sections, attributes, symbols and relocations of cubins and fatbins.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	spec "cubinspec"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

var out = bufio.NewWriter(os.Stdout)

func print(form string, values ...any) { fmt.Fprintf(out, form+"\n", values...) }

// must ends the program with what was wrong with the file.
func must[T any](value T, err error) T {
	if err != nil {
		out.Flush()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func attributes(index int, body *spec.Eiattr) {
	for _, record := range body.Records {
		print("A %d %d %d %d", index, record.Format, record.Code, record.Value)
		if value, ok := record.Payload.(*spec.Eiattr_FunctionValue); ok &&
			record.Code == spec.CudaCodes_EiattrCode__EiattrRegcount {
			print("K %d %d", value.Symbol, value.Number)
		}
	}
}

func symbols(index int, table kaitai.Struct) {
	const form = "Y %d %s %d %d %d %d %d"
	switch table := table.(type) {
	case *spec.SymbolTable64:
		for _, row := range table.Symbols {
			print(form, index, must(row.Name()), row.StValue, row.StSize, row.StShndx,
				row.StInfo.SymbolType, row.StInfo.Binding)
		}
	case *spec.SymbolTable32:
		for _, row := range table.Symbols {
			print(form, index, must(row.Name()), row.StValue, row.StSize, row.StShndx,
				row.StInfo.SymbolType, row.StInfo.Binding)
		}
	}
}

func relocations(index int, table kaitai.Struct) {
	const form = "R %d %d %d %d %d"
	switch table := table.(type) {
	case *spec.RelaTable64:
		for _, row := range table.Relocations {
			print(form, index, row.ROffset, row.RType, row.RSym, row.RAddend)
		}
	case *spec.RelTable64:
		for _, row := range table.Relocations {
			print(form, index, row.ROffset, row.RType, row.RSym, 0)
		}
	case *spec.RelaTable32:
		for _, row := range table.Relocations {
			print(form, index, row.ROffset, row.RInfo.RType, row.RInfo.RSym, row.RAddend)
		}
	case *spec.RelTable32:
		for _, row := range table.Relocations {
			print(form, index, row.ROffset, row.RInfo.RType, row.RInfo.RSym, 0)
		}
	}
}

func body(index int, content kaitai.Struct) {
	switch content := content.(type) {
	case *spec.Mercury:
		body(index, content.Content)
	case *spec.Eiattr:
		attributes(index, content)
	case *spec.ElfCuda_Symbols:
		symbols(index, content.Table)
	case *spec.Mercury_Symbols:
		symbols(index, content.Table)
	case *spec.ElfCuda_Rel:
		relocations(index, content.Table)
	case *spec.ElfCuda_Rela:
		relocations(index, content.Table)
	case *spec.Mercury_Relocations:
		relocations(index, content.Table)
	}
}

func cubin(elf *spec.ElfCuda) {
	for index, section := range must(elf.Sections()) {
		print("S %d %s %d %d %d", index, must(section.Name()), section.ShType,
			must(section.ShOffset()), must(section.ShSize()))
		if must(section.IsInFile()) {
			body(index, must(section.Body()))
		}
	}
}

func fatbin(file *spec.Fatbin) {
	for _, block := range file.Blocks {
		container, ok := block.Content.(*spec.Fatbin_Container)
		if !ok {
			continue
		}
		for _, entry := range container.Entries.Entries {
			print("E %d %d %d", entry.Head.Kind, entry.Head.Sm, entry.Head.LenPayload)
			if elf, ok := entry.Payload.(*spec.ElfCuda); ok {
				cubin(elf)
			}
		}
	}
}

func main() {
	defer out.Flush()
	for _, path := range os.Args[1:] {
		print("F %s", path)
		stream := kaitai.NewStream(must(os.Open(path)))
		if strings.HasSuffix(path, ".fatbin") {
			file := spec.NewFatbin()
			must(0, file.Read(stream, nil, file))
			fatbin(file)
		} else {
			elf := spec.NewElfCuda()
			must(0, elf.Read(stream, nil, elf))
			cubin(elf)
		}
	}
}
