// Print the kernels of cubins with their registers and parameters.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	spec "cubinspec"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func cubin(sections []*spec.ElfCuda_Section) {
	registers := map[int]uint32{} // by the number of a function's symbol
	var kernels []*spec.ElfCuda_Section
	for _, section := range sections {
		info, _ := must(section.Body()).(*spec.Eiattr)
		for i := 0; info != nil && i < len(info.Records); i++ {
			if value, ok := info.Records[i].Payload.(*spec.Eiattr_FunctionValue); ok &&
				info.Records[i].Code == spec.CudaCodes_EiattrCode__EiattrRegcount {
				registers[int(value.Symbol)] = value.Number
			}
			// each kernel has this attribute, no other function does
			if info.Records[i].Code == spec.CudaCodes_EiattrCode__EiattrMaxregCount {
				kernels = append(kernels, section)
			}
		}
	}
	for _, section := range kernels {
		symbol := must(sections[must(section.ShInfo())].FunctionSymbol())
		fmt.Println(strings.TrimPrefix(must(section.Name()), ".nv.info."), registers[symbol])
		for _, record := range must(section.Body()).(*spec.Eiattr).Records {
			switch value := record.Payload.(type) {
			case *spec.Eiattr_KparamInfo:
				fmt.Println(" ", value.Ordinal, value.Offset, value.Bits.LenParameter)
			case *spec.Eiattr_KparamInfoV2:
				fmt.Println(" ", value.Ordinal, value.Offset, value.Bits.LenParameter)
			}
		}
	}
}

func main() {
	for _, path := range os.Args[1:] {
		fmt.Printf("%s:\n", path)
		elf := spec.NewElfCuda()
		must(0, elf.Read(kaitai.NewStream(must(os.Open(path))), nil, elf))
		cubin(must(elf.Sections()))
	}
}
