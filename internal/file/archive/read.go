package archive

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Read reads a value that Write wrote with the same T, V and name, to the end of r.
//
// The error begins with of, a package. It names the part that is missing, damaged, unknown or of
// another type, or wraps the error of r. No input makes Read panic or allocate more than a multiple
// of the bytes that r has delivered.
func Read[T dense.Float, V any](r io.Reader, of, name string) (v V, err error) {
	f, err := safetensors.Read(r)
	err = decode(f, err, true, of, name, typeName[T](), reflect.ValueOf(&v).Elem())
	return v, err
}

// View returns the value in data, as Read does. A slice of float32, uint32 or uint64 in the value
// shares the memory of data if the byte order of the processor and the alignment permit.
func View[T dense.Float, V any](data []byte, of, name string) (v V, err error) {
	f, err := safetensors.View(data)
	err = decode(f, err, true, of, name, typeName[T](), reflect.ValueOf(&v).Elem())
	return v, err
}

// Unmarshal returns the value in data, as Read does. The value shares no memory with data.
func Unmarshal[T dense.Float, V any](data []byte, of, name string) (v V, err error) {
	f, err := safetensors.View(data)
	err = decode(f, err, false, of, name, typeName[T](), reflect.ValueOf(&v).Elem())
	return v, err
}

// decode fills v, which is zero, from a file, unless err is an error. After an error v is zero. If
// shares is true, v may share the memory of f.
func decode(f *safetensors.File, err error, shares bool, of, name, element string, v reflect.Value) error {
	if err == nil {
		d := decoder{metadata: f.Metadata, tensors: f.Tensors, shares: shares}
		err = d.file(f, name, element, v)
	}
	if err != nil {
		v.SetZero()
	}
	return wrap(of, err)
}

type decoder struct {
	metadata map[string]string
	tensors  map[string]safetensors.Tensor
	shares   bool // values may share the memory of tensors
}

func (d *decoder) file(f *safetensors.File, name, element string, v reflect.Value) error {
	if err := d.header(f, name, element); err != nil {
		return err
	}
	if err := d.part(name, v, 0); err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	if canBeNil(v.Kind()) && v.IsNil() {
		return fmt.Errorf("%s is nil", name)
	}
	return nil
}

func (d *decoder) header(f *safetensors.File, name, element string) error {
	switch got := d.metadata[formatKey]; {
	case got != format:
		return fmt.Errorf("metadata: format %.40q, want %q", got, format)
	case d.metadata[versionKey] != version:
		return fmt.Errorf("the file has version %.40q of the format, this package reads version %q alone", d.metadata[versionKey], version)
	}
	if got, want := d.metadata[checksumKey], checksum(f); got != want {
		return fmt.Errorf("metadata: checksum %.40q, want %q: the file is damaged", got, want)
	}
	if got := d.metadata[kindKey]; got != name {
		return fmt.Errorf("the file is a %.40s, want a %s", got, name)
	}
	if got := d.metadata[typeKey]; got != element {
		return fmt.Errorf("the file is of %.40s, want %s", got, element)
	}
	for _, key := range []string{formatKey, kindKey, versionKey, checksumKey, typeKey} {
		delete(d.metadata, key)
	}
	return nil
}

func (d *decoder) finish() error {
	for _, key := range slices.Sorted(maps.Keys(d.metadata)) {
		return fmt.Errorf("metadata: %.80q is unknown", key)
	}
	for _, name := range slices.Sorted(maps.Keys(d.tensors)) {
		return fmt.Errorf("tensor %.80q is unknown", name)
	}
	return nil
}

func (d *decoder) text(name string) (string, error) {
	s, ok := d.metadata[name]
	if !ok {
		return "", fmt.Errorf("metadata: %.200q is missing", name)
	}
	delete(d.metadata, name)
	return s, nil
}

// depth counts the interfaces around v.
func (d *decoder) part(name string, v reflect.Value, depth int) error {
	if isArray(v.Type()) {
		return d.array(name, v)
	}
	if isRecord(v) {
		return fields(name, v, func(name string, v reflect.Value) error { return d.part(name, v, depth) })
	}
	s, err := d.text(name)
	if err != nil {
		return err
	}
	if canBeNil(v.Kind()) && s == null {
		return nil
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return d.dynamic(name, s, v, depth)
	case reflect.Int:
		var n int
		n, err = strconv.Atoi(s)
		v.SetInt(int64(n))
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(s, 64)
		v.SetFloat(x)
	case reflect.Bool:
		var b bool
		// ParseBool accepts "0" and "T" too, which Write never writes.
		if b, err = strconv.ParseBool(s); err == nil && s != strconv.FormatBool(b) {
			err = strconv.ErrSyntax
		}
		v.SetBool(b)
	case reflect.String:
		v.SetString(s)
	case reflect.Slice:
		var n int
		if n, err = strconv.Atoi(s); err == nil && n >= 0 {
			return d.list(name, n, v, depth)
		}
	}
	if err != nil || v.Kind() == reflect.Slice {
		return fmt.Errorf("metadata: %.200q is %.40q, want a %s", name, s, map[reflect.Kind]string{
			reflect.Int: "whole number", reflect.Float64: "number", reflect.Bool: "truth value", reflect.Slice: "number of parts",
		}[v.Kind()])
	}
	return nil
}

func (d *decoder) array(name string, v reflect.Value) error {
	if v.Kind() == reflect.Slice && d.metadata[name] == null {
		delete(d.metadata, name)
		return nil
	}
	t, ok := d.tensors[name]
	if !ok {
		return fmt.Errorf("tensor %.200q is missing", name)
	}
	delete(d.tensors, name)
	if err := fill(v, t, d.shares); err != nil {
		return fmt.Errorf("tensor %.200q: %w", name, err)
	}
	return nil
}

// list fills v with n parts. It grows v step by step, because n may be a false number.
func (d *decoder) list(name string, n int, v reflect.Value, depth int) error {
	list := reflect.MakeSlice(v.Type(), 0, min(n, 16))
	for i := range n {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := d.part(element(name, i), e, depth); err != nil {
			return err
		}
		list = reflect.Append(list, e)
	}
	v.Set(list)
	return nil
}

func (d *decoder) dynamic(name, kindName string, v reflect.Value, depth int) error {
	if depth == deepest {
		return fmt.Errorf("metadata: %.200q is more than %d values deep", name, deepest)
	}
	k := registry.Lookup(v.Type(), func(k registry.Kind) bool { return k.Name == kindName })
	if k == nil {
		return fmt.Errorf("metadata: %.200q is %.40q, which is unknown", name, kindName)
	}
	recipe := reflect.New(k.Of).Elem()
	if err := d.part(inside(name, k.Of), recipe, depth+1); err != nil {
		return err
	}
	made, err := k.Make(recipe.Interface())
	if err != nil {
		return fmt.Errorf("%.200s: %w", name, err)
	}
	v.Set(reflect.ValueOf(made))
	return nil
}
