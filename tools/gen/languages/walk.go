// Reads every field and instance of cubins with the generated Go classes.
//
// Prints a line per file: path, number of sections, a checksum over their names, kinds and sizes,
// and the number of getters that failed, with the first of them.
package main

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"

	"cubinspec/spec"
	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
)

type walker struct {
	seen   map[uintptr]bool
	faults []string
}

func (w *walker) walk(value reflect.Value, path string) {
	for value.Kind() == reflect.Interface && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() != reflect.Uint8 {
		for i := 0; i < value.Len(); i++ {
			w.walk(value.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		return
	}
	if value.Kind() != reflect.Ptr || value.IsNil() || w.seen[value.Pointer()] {
		return
	}
	if !strings.HasPrefix(value.Type().String(), "*spec.") {
		return
	}
	w.seen[value.Pointer()] = true
	fields := value.Elem()
	for i := 0; i < fields.NumField(); i++ {
		field := fields.Type().Field(i)
		if field.PkgPath == "" && !strings.HasPrefix(field.Name, "_") {
			w.walk(fields.Field(i), path+"."+field.Name)
		}
	}
	// instances are methods without arguments that give a value and an error
	for i := 0; i < value.NumMethod(); i++ {
		method := value.Type().Method(i)
		if method.Type.NumIn() != 1 || method.Type.NumOut() != 2 {
			continue
		}
		result := value.Method(i).Call(nil)
		if !result[1].IsNil() {
			w.faults = append(w.faults, fmt.Sprintf("%s.%s: %v", path, method.Name, result[1]))
			continue
		}
		w.walk(result[0], path+"."+method.Name)
	}
}

func read(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	root := spec.NewElfCuda()
	if err := root.Read(kaitai.NewStream(bytes.NewReader(data)), nil, root); err != nil {
		return err
	}
	w := walker{seen: map[uintptr]bool{}}
	w.walk(reflect.ValueOf(root), "")
	sections, err := root.Sections()
	if err != nil {
		return err
	}
	sum := uint32(0)
	for _, section := range sections {
		name, _ := section.Name()
		kind, _ := section.BodyKind()
		size, _ := section.LenBody()
		for _, c := range []byte(fmt.Sprintf("%s:%d:%d,", name, kind, size)) {
			sum = sum*31 + uint32(c)
		}
	}
	fmt.Println(file, len(sections), sum, len(w.faults), strings.Join(w.faults[:min(1, len(w.faults))], ""))
	return nil
}

func main() {
	for _, file := range os.Args[1:] {
		if err := read(file); err != nil {
			fmt.Println(file, 0, 0, 1, err)
		}
	}
}
