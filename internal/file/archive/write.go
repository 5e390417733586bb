package archive

import (
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

const (
	format  = "randfeat"
	version = "2"

	formatKey, versionKey, typeKey, checksumKey = "format", "version", "type", "checksum"

	null    = "nil"
	terms   = "terms"
	deepest = 64
)

// Write writes the value v, a struct or a value of an interface that Register knows, as a
// safetensors file. name is the name of v. T is the element type of the computations of v. Write
// writes nothing if it returns an error for a part of v.
func Write[T dense.Float, V any](w io.Writer, name string, v V) error {
	e := encoder{safetensors.File{
		Metadata: map[string]string{formatKey: format, versionKey: version, typeKey: typeName[T]()},
		Tensors:  map[string]safetensors.Tensor{},
	}}
	if err := e.part(name, reflect.ValueOf(&v).Elem(), 0); err != nil {
		return err
	}
	Seal(&e.file)
	return safetensors.Write(w, &e.file)
}

// Seal sets the checksum of the file.
func Seal(f *safetensors.File) { f.Metadata[checksumKey] = checksum(f) }

// checksum returns the checksum of all tensors and all other metadata.
func checksum(f *safetensors.File) string {
	sum := crc32.NewIEEE()
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if key != checksumKey {
			fmt.Fprintf(sum, "%s\n%s\n", key, f.Metadata[key])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		t := f.Tensors[name]
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Shape), "[]"), " ", ",")
		fmt.Fprintf(sum, "%s\n%s\n%s\n", name, t.DType, shape)
		sum.Write(t.Data)
	}
	return fmt.Sprintf("%08x", sum.Sum32())
}

// typeName returns float32 or float64.
func typeName[T dense.Float]() string { return reflect.TypeFor[T]().String() }

// encoder adds the parts of a value to a file.
type encoder struct{ file safetensors.File }

// part adds the part v of the given name. depth counts the interfaces around v.
func (e *encoder) part(name string, v reflect.Value, depth int) error {
	if isRecord(v) {
		return fields(name, v, func(name string, v reflect.Value) error { return e.part(name, v, depth) })
	}
	if k := v.Kind(); (k == reflect.Interface || k == reflect.Slice) && v.IsNil() {
		e.file.Metadata[name] = null
		return nil
	}
	if v.Kind() == reflect.Interface {
		return e.dynamic(name, v, depth)
	}
	if t, ok := tensorOf(v.Interface()); ok {
		e.file.Tensors[name] = t
		return nil
	}
	switch v.Kind() {
	case reflect.Int:
		e.file.Metadata[name] = strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		e.file.Metadata[name] = strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.String:
		e.file.Metadata[name] = v.String()
	case reflect.Bool:
		e.file.Metadata[name] = strconv.FormatBool(v.Bool())
	case reflect.Slice:
		e.file.Metadata[name] = strconv.Itoa(v.Len())
		for i := range v.Len() {
			if err := e.part(element(name, i), v.Index(i), depth); err != nil {
				return err
			}
		}
	default:
		panic(fmt.Sprintf("archive: %s is a %v, which is no part", name, v.Type()))
	}
	return nil
}

// dynamic adds the value of an interface.
func (e *encoder) dynamic(name string, v reflect.Value, depth int) error {
	if depth == deepest {
		return fmt.Errorf("%s is more than %d values deep", name, deepest)
	}
	recipe, err := recipeOf(v.Interface())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	k := lookup(v.Type(), func(k kind) bool { return k.of == reflect.TypeOf(recipe) })
	if k == nil {
		return fmt.Errorf("%s is a %T, not of this library, and cannot be written", name, v.Interface())
	}
	e.file.Metadata[name] = k.name
	return e.part(inside(name, k.of), reflect.ValueOf(recipe), depth+1)
}

// inside returns the name of the recipe, of type t, of the interface with the given name.
func inside(name string, t reflect.Type) string {
	if t.Kind() == reflect.Struct {
		return name
	}
	return name + "." + terms
}

// element returns the name of element i of a slice.
func element(name string, i int) string { return name + "." + strconv.Itoa(i) }

// isRecord reports whether Write writes v field by field.
func isRecord(v reflect.Value) bool { return v.Kind() == reflect.Struct && !isArray(v.Type()) }

// fields calls f for each field of the struct v that is in files, with the name of the part. The
// fields of an embedded struct are fields of v.
func fields(name string, v reflect.Value, f func(name string, v reflect.Value) error) error {
	for i := range v.NumField() {
		field, err := v.Type().Field(i), error(nil)
		switch {
		case field.Anonymous:
			err = fields(name, v.Field(i), f)
		case nameOf(field) != "-":
			err = f(name+"."+nameOf(field), v.Field(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of a field in files.
func nameOf(field reflect.StructField) string {
	if name := field.Tag.Get("archive"); name != "" {
		return name
	}
	first, size := utf8.DecodeRuneInString(field.Name)
	return string(unicode.ToLower(first)) + field.Name[size:]
}
