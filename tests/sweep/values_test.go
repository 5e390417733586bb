package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// value is a function that returns a new copy of an argument, because calls may write to arguments.
type value struct {
	label string
	make  func() reflect.Value
}

// constant returns a value that calls cannot change.
func constant(label string, x reflect.Value) value {
	return value{label, func() reflect.Value { return x }}
}

// side is the number of most things, so that most shapes fit.
const side = 4

var (
	sourceType  = reflect.TypeFor[rand.Source]()
	contextType = reflect.TypeFor[context.Context]()
	readerType  = reflect.TypeFor[io.Reader]()
	writerType  = reflect.TypeFor[io.Writer]()
	bytesType   = reflect.TypeFor[[]byte]()
	errorType   = reflect.TypeFor[error]()
)

// known are values that calls have returned, by their types.
type known struct {
	order  []reflect.Type
	values map[reflect.Type][]reflect.Value
	// What goodArguments and badArguments have returned since add has last kept something.
	goods, bads map[reflect.Type][]value
}

// goodArguments is good, looked up if nothing has come in since.
func (k *known) goodArguments(t reflect.Type) []value {
	return lookUp(&k.goods, t, k.good)
}

// badArguments is bad, looked up if nothing has come in since.
func (k *known) badArguments(t reflect.Type) []value {
	return lookUp(&k.bads, t, k.bad)
}

func lookUp(m *map[reflect.Type][]value, t reflect.Type, f func(reflect.Type, int) []value) []value {
	all, ok := (*m)[t]
	if !ok {
		if *m == nil {
			*m = map[reflect.Type][]value{}
		}
		all = f(t, 0)
		(*m)[t] = all
	}
	return all
}

// most is the number of values of a type that are kept.
const most = 5

// add keeps x, and what a slice of a few elements holds.
func (k *known) add(x reflect.Value) {
	for x.Kind() == reflect.Interface {
		x = x.Elem()
	}
	if !x.IsValid() || x.Kind() == reflect.Pointer && x.IsNil() {
		return
	}
	t := x.Type()
	switch ours := strings.HasPrefix(t.PkgPath(), module) || t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().PkgPath(), module); {
	case t == bytesType && x.Len() > 0:
	case !ours || len(k.values[t]) == most:
		return
	}
	if len(k.values[t]) == 0 {
		k.order = append(k.order, t)
	}
	if t == bytesType {
		x = reflect.ValueOf(bytes.Clone(x.Bytes()))
		if len(k.values[t]) > 60 {
			return
		}
	}
	k.values[t] = append(k.values[t], x)
	k.goods, k.bads = nil, nil
}

// all returns the values that an interface or a type takes.
func (k *known) all(t reflect.Type) []value {
	var all []value
	for _, own := range k.order {
		if own == t || t.Kind() == reflect.Interface && own.Implements(t) {
			for i, x := range k.values[own] {
				all = append(all, constant(fmt.Sprintf("a %v (%d)", own, i), x))
			}
		}
	}
	return all
}

// good returns values that a function may like, the best first.
func (k *known) good(t reflect.Type, depth int) []value {
	of := func(x any) value { return constant(fmt.Sprint(x), reflect.ValueOf(x).Convert(t)) }
	if depth > 4 {
		return []value{constant("zero", reflect.Zero(t))}
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return []value{of(side), of(1), of(0), of(2), of(8), of(32)}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return []value{of(side), of(1), of(0), of('T'), of('N'), of('U'), of('L'), of('R')}
	case reflect.Float32, reflect.Float64:
		return []value{of(0.5), of(0), of(1), of(2)}
	case reflect.Bool:
		return []value{of(false), of(true)}
	case reflect.String:
		return []value{of("a"), of("")}
	case reflect.Slice:
		return k.goodSlices(t, depth)
	case reflect.Array:
		return []value{{"an array", func() reflect.Value {
			x := reflect.New(t).Elem()
			for i := range t.Len() {
				x.Index(i).Set(k.good(t.Elem(), depth+1)[0].make())
			}
			return x
		}}}
	case reflect.Map:
		return []value{constant("no map", reflect.Zero(t)), {"a map", func() reflect.Value {
			x := reflect.MakeMap(t)
			x.SetMapIndex(k.good(t.Key(), depth+1)[0].make(), k.good(t.Elem(), depth+1)[0].make())
			return x
		}}}
	case reflect.Func:
		return []value{{"a function", func() reflect.Value { return k.function(t, depth) }}}
	case reflect.Pointer:
		all := k.all(t)
		if t.Elem().Kind() == reflect.Struct && exported(t.Elem()) {
			for _, v := range k.good(t.Elem(), depth+1) {
				all = append(all, pointer(v))
			}
		}
		return append(all, value{"zero", func() reflect.Value { return reflect.New(t.Elem()) }})
	case reflect.Struct:
		if isMatrix(t) {
			return matrices(t)
		}
		all := append([]value{constant("{}", reflect.Zero(t))}, k.all(t)...)
		if exported(t) {
			all = append(all, value{"{…}", func() reflect.Value {
				x := reflect.New(t).Elem()
				for i := range t.NumField() {
					x.Field(i).Set(k.good(t.Field(i).Type, depth+1)[0].make())
				}
				return x
			}})
			for i := range t.NumField() {
				for j, v := range k.good(t.Field(i).Type, depth+1) {
					if j < 2 {
						all = append(all, with(reflect.Zero(t), i, v))
					}
				}
			}
		}
		return all
	case reflect.Interface:
		return k.goodInterfaces(t)
	}
	return []value{constant("zero", reflect.Zero(t))}
}

func (k *known) goodSlices(t reflect.Type, depth int) []value {
	if t == bytesType {
		return append(k.all(t), constant("no bytes", reflect.ValueOf([]byte{})))
	}
	filled := func(n int) value {
		return value{fmt.Sprintf("%d elements", n), func() reflect.Value {
			x := reflect.MakeSlice(t, n, n)
			elements := k.good(t.Elem(), depth+1)
			for i := range n {
				e := elements[0].make()
				if e.CanFloat() {
					e = reflect.ValueOf(0.5 + float64(i*i%7)/8).Convert(t.Elem())
				}
				x.Index(i).Set(e)
			}
			return x
		}}
	}
	return []value{filled(side), constant("nil", reflect.Zero(t)), filled(1), filled(2), filled(8), filled(side * side)}
}

func (k *known) goodInterfaces(t reflect.Type) []value {
	of := func(label string, f func() any) []value {
		return []value{{label, func() reflect.Value { return reflect.ValueOf(f()) }}}
	}
	switch t {
	case sourceType:
		return of("PCG", func() any { return rand.NewPCG(1, 2) })
	case contextType:
		return of("Background", func() any { return context.Background() })
	case writerType:
		return of("a buffer", func() any { return new(bytes.Buffer) })
	case readerType:
		var all []value
		for _, v := range k.all(bytesType) {
			all = append(all, of("a reader", func() any { return bytes.NewReader(v.make().Bytes()) })...)
		}
		return append(all, of("no bytes", func() any { return new(bytes.Reader) })...)
	case errorType:
		return of("an error", func() any { return errors.New("of a caller") })
	}
	all := k.all(t)
	for _, own := range types {
		if own.Implements(t) {
			all = append(all, constant(own.String()+"{}", reflect.Zero(own)))
		}
	}
	if len(all) == 0 {
		all = append(all, constant("nil", reflect.Zero(t)))
	}
	return all
}

// bad returns values that no caller should give, and some that are only extreme.
func (k *known) bad(t reflect.Type, depth int) []value {
	of := func(all ...any) []value {
		var list []value
		for _, x := range all {
			list = append(list, constant(fmt.Sprint(x), reflect.ValueOf(x).Convert(t)))
		}
		return list
	}
	null := constant("nil", reflect.Zero(t))
	if depth > 2 {
		return nil
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		if t == reflect.TypeFor[time.Duration]() {
			return of(-1, 0)
		}
		return of(0, -1, int64(1<<40), int64(1<<62), math.MaxInt, math.MinInt, 3)
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return of(0, -1, 100)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return of(0, 255)
	case reflect.Float32, reflect.Float64:
		return of(math.NaN(), math.Inf(1), math.Inf(-1), 0.0, -1.0, 1e300, 5e-324)
	case reflect.String:
		return of("", "\xff", "none/none")
	case reflect.Slice:
		list := []value{null, {"no elements", func() reflect.Value { return reflect.MakeSlice(t, 0, 0) }}}
		if t == bytesType {
			return append(list, k.badBytes()...)
		}
		list = append(list, value{"3 elements", func() reflect.Value {
			x := reflect.MakeSlice(t, 3, 3)
			for i := range 3 {
				x.Index(i).Set(k.good(t.Elem(), depth+1)[0].make())
			}
			return x
		}})
		for _, v := range k.bad(t.Elem(), depth+1) {
			list = append(list, value{side0(v.label), func() reflect.Value {
				x := reflect.MakeSlice(t, side, side)
				for i := range side {
					x.Index(i).Set(k.good(t.Elem(), depth+1)[0].make())
				}
				x.Index(0).Set(v.make())
				return x
			}})
		}
		return list
	case reflect.Map, reflect.Func:
		return []value{null}
	case reflect.Pointer:
		list := []value{null, {"zero", func() reflect.Value { return reflect.New(t.Elem()) }}}
		if t.Elem().Kind() == reflect.Struct && exported(t.Elem()) {
			for _, v := range k.bad(t.Elem(), depth+1) {
				list = append(list, pointer(v))
			}
		}
		return list
	case reflect.Struct:
		if isMatrix(t) {
			return malformed(t)
		}
		list := []value{constant("{}", reflect.Zero(t))}
		if !exported(t) {
			return list
		}
		for i := range t.NumField() {
			for _, v := range k.bad(t.Field(i).Type, depth+1) {
				list = append(list, with(k.good(t, depth+1)[0].make(), i, v))
			}
		}
		return list
	case reflect.Interface:
		list := []value{null}
		if t == contextType {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			list = append(list, constant("an ended context", reflect.ValueOf(ended)))
		}
		for _, own := range types {
			if own.Implements(t) {
				if own.Kind() == reflect.Struct && exported(own) {
					list = append(list, k.bad(own, depth+1)...)
				}
			} else if p := reflect.PointerTo(own); p.Implements(t) && t.NumMethod() > 0 {
				list = append(list, constant("a nil "+p.String(), reflect.Zero(p)), value{"a zero " + own.String(), func() reflect.Value { return reflect.New(own) }})
			}
		}
		return list
	}
	return nil
}

func side0(label string) string { return fmt.Sprintf("%d elements, the first %s", side, label) }

// badBytes are damaged copies of bytes that calls have made.
func (k *known) badBytes() []value {
	list := []value{{"64 bytes 0xff", func() reflect.Value { return reflect.ValueOf(bytes.Repeat([]byte{255}, 64)) }}}
	for i, x := range k.values[bytesType] {
		list = append(list,
			value{fmt.Sprintf("half of bytes %d", i), func() reflect.Value { b := x.Bytes(); return reflect.ValueOf(bytes.Clone(b[:len(b)/2])) }},
			value{fmt.Sprintf("damaged bytes %d", i), func() reflect.Value {
				b := bytes.Clone(x.Bytes())
				b[len(b)/3] ^= 255
				return reflect.ValueOf(b)
			}})
	}
	return list
}

// function returns a function with good results.
func (k *known) function(t reflect.Type, depth int) reflect.Value {
	return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
		results := make([]reflect.Value, t.NumOut())
		for i := range results {
			out := t.Out(i)
			results[i] = reflect.New(out).Elem()
			if !out.Implements(errorType) {
				results[i].Set(k.good(out, depth+1)[0].make())
			}
		}
		return results
	})
}

// exported reports whether a struct has fields, and all of them are exported.
func exported(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() == 0 {
		return false
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

// pointer returns a pointer to the value.
func pointer(v value) value {
	return value{"&" + v.label, func() reflect.Value {
		x := v.make()
		p := reflect.New(x.Type())
		p.Elem().Set(x)
		return p
	}}
}

// with returns a copy of a struct with another field i.
func with(base reflect.Value, i int, v value) value {
	t := base.Type()
	return value{fmt.Sprintf("%v{%s: %s}", t, t.Field(i).Name, v.label), func() reflect.Value {
		x := reflect.New(t).Elem()
		x.Set(base)
		x.Field(i).Set(v.make())
		return x
	}}
}

// isMatrix reports whether t is a dense.Matrix, or a matrix of gonum's like it.
func isMatrix(t reflect.Type) bool {
	_, stride := t.FieldByName("Stride")
	_, data := t.FieldByName("Data")
	_, rows := t.FieldByName("Rows")
	return stride && data && rows && t.NumField() == 4
}

// matrices returns matrices of several shapes.
func matrices(t reflect.Type) []value {
	var list []value
	for _, shape := range [][2]int{{side, side}, {0, 0}, {side, 8}, {side, 1}, {1, side}, {8, side}, {8, 8}, {2, side}, {side, 2}} {
		list = append(list, value{fmt.Sprintf("%d×%d", shape[0], shape[1]), func() reflect.Value { return matrix(t, shape[0], shape[1]) }})
	}
	return list
}

// matrix returns a matrix of numbers of both signs, or the zero one for no rows.
func matrix(t reflect.Type, rows, cols int) reflect.Value {
	m := reflect.New(t).Elem()
	if rows == 0 {
		return m
	}
	of, ok := drawn[shape{t, rows, cols}]
	if !ok {
		of.Value = reflect.New(t).Elem()
		of.Value.FieldByName("Rows").SetInt(int64(rows))
		of.Value.FieldByName("Cols").SetInt(int64(cols))
		of.Value.FieldByName("Stride").SetInt(int64(cols))
		field, _ := t.FieldByName("Data")
		of.data = field.Index[0]
		numbers := reflect.MakeSlice(field.Type, rows*cols, rows*cols)
		for i := range rows * cols {
			numbers.Index(i).Set(reflect.ValueOf(math.Sin(float64(3*i + 1))).Convert(field.Type.Elem()))
		}
		of.Value.Field(of.data).Set(numbers)
		drawn[shape{t, rows, cols}] = of
	}
	m.Set(of.Value)
	data := m.Field(of.data)
	data.Set(reflect.MakeSlice(data.Type(), rows*cols, rows*cols))
	reflect.Copy(data, of.Value.Field(of.data))
	return m
}

// shape is that of a matrix of type t.
type shape struct {
	t          reflect.Type
	rows, cols int
}

// drawn are the matrices that matrix copies, and the number of the field of their elements.
var drawn = map[shape]struct {
	reflect.Value
	data int
}{}

// malformed returns matrices that are no views, of absurd shapes, and with numbers that are none.
func malformed(t reflect.Type) []value {
	var list []value
	for _, c := range []struct{ rows, cols, stride, data int64 }{
		{0, 0, 0, 0}, {0, side, side, 0}, {side, 0, 0, 0}, {side, side, 1, 16}, {side, side, side, 15}, {side, side, side, 0},
		{-1, side, side, 16}, {side, -1, side, 16}, {side, side, -side, 16}, {1 << 40, 0, 0, 0}, {0, 1 << 62, 0, 0},
		{1 << 62, side, side, 16}, {1 << 62, 1 << 62, 1 << 62, 16}, {2, side, 1 << 62, 16}, {3, 3, 3, 9}, {side, side, 5, 19},
	} {
		list = append(list, value{fmt.Sprintf("%+v", c), func() reflect.Value {
			m := reflect.New(t).Elem()
			m.FieldByName("Rows").SetInt(c.rows)
			m.FieldByName("Cols").SetInt(c.cols)
			m.FieldByName("Stride").SetInt(c.stride)
			data := m.FieldByName("Data")
			data.Set(reflect.MakeSlice(data.Type(), int(c.data), int(c.data)))
			return m
		}})
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, 0} {
		list = append(list, value{fmt.Sprintf("all %v", x), func() reflect.Value {
			m := matrix(t, side, side)
			data := m.FieldByName("Data")
			for i := range data.Len() {
				data.Index(i).Set(reflect.ValueOf(x).Convert(data.Type().Elem()))
			}
			return m
		}})
	}
	return list
}
