package archive

import (
	"bytes"
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
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/safetensors"
)

const (
	format  = "randfeat"
	version = "3"

	formatKey, kindKey, versionKey, typeKey, checksumKey = "format", "kind", "version", "type", "checksum"

	null    = "nil"
	terms   = "terms"
	deepest = 64
)

// Write writes the value v, a struct or a value of an interface or pointer type of package
// registry, as a safetensors file. name is the name of v. T is the element type of the computations
// of v. Write writes nothing if it returns an error for a part of v. Errors begin with of, a
// package.
func Write[T dense.Float, V any](w io.Writer, of, name string, v V) error {
	f, err := encode(name, typeName[T](), reflect.ValueOf(&v).Elem())
	if err == nil {
		err = safetensors.Write(w, f)
	}
	return wrap(of, err)
}

func Marshal[T dense.Float, V any](of, name string, v V) ([]byte, error) {
	var b bytes.Buffer
	err := Write[T](&b, of, name, v)
	return b.Bytes(), err
}

func wrap(of string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", of, err)
}

func encode(name, element string, v reflect.Value) (*safetensors.File, error) {
	e := encoder{safetensors.File{
		Metadata: map[string]string{formatKey: format, kindKey: name, versionKey: version, typeKey: element},
		Tensors:  map[string]safetensors.Tensor{},
	}}
	if err := e.part(name, v, 0); err != nil {
		return nil, err
	}
	e.file.Metadata[checksumKey] = checksum(&e.file)
	return &e.file, nil
}

// Changed returns the file in data after a change, with a checksum that fits, for tests.
func Changed(data []byte, change func(f *safetensors.File)) ([]byte, error) {
	f, err := safetensors.Read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	change(f)
	f.Metadata[checksumKey] = checksum(f)
	var b bytes.Buffer
	err = safetensors.Write(&b, f)
	return b.Bytes(), err
}

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

func typeName[T dense.Float]() string { return reflect.TypeFor[T]().String() }

type encoder struct{ file safetensors.File }

func (e *encoder) part(name string, v reflect.Value, depth int) error {
	if isRecord(v) {
		return fields(name, v, func(name string, v reflect.Value) error { return e.part(name, v, depth) })
	}
	if canBeNil(v.Kind()) && v.IsNil() {
		e.file.Metadata[name] = null
		return nil
	}
	if isArray(v.Type()) {
		e.file.Tensors[name] = tensorOf(v)
		return nil
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return e.dynamic(name, v, depth)
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

func canBeNil(k reflect.Kind) bool {
	return k == reflect.Interface || k == reflect.Pointer || k == reflect.Slice
}

func (e *encoder) dynamic(name string, v reflect.Value, depth int) error {
	if depth == deepest {
		return fmt.Errorf("%s is more than %d values deep", name, deepest)
	}
	recipe, err := registry.Of(v.Interface())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	k := registry.Lookup(v.Type(), func(k registry.Kind) bool { return k.Of == reflect.TypeOf(recipe) })
	if k == nil {
		return fmt.Errorf("%s is a %T, not of this library, and cannot be written", name, v.Interface())
	}
	e.file.Metadata[name] = k.Name
	return e.part(inside(name, k.Of), reflect.ValueOf(recipe), depth+1)
}

func inside(name string, t reflect.Type) string {
	if t.Kind() == reflect.Struct {
		return name
	}
	return name + "." + terms
}

func element(name string, i int) string { return name + "." + strconv.Itoa(i) }

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

func nameOf(field reflect.StructField) string {
	if name := field.Tag.Get("archive"); name != "" {
		return name
	}
	first, size := utf8.DecodeRuneInString(field.Name)
	return string(unicode.ToLower(first)) + field.Name[size:]
}
