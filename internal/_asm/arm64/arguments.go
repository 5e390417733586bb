package arm64

import (
	"fmt"
	"strings"
)

// layout is where the arguments and the result of a function are.
type layout struct {
	offsets map[string]int // by name; the result is ret
	size    int
}

// structures are the argument types with fields, each of eight bytes.
var structures = map[string][]string{
	"left":   {"first", "row", "col"},
	"right":  {"first", "row", "panel", "ahead"},
	"target": {"first", "stride", "last"},
}

// parse returns the layout for a signature without named results.
func parse(signature string) layout {
	l := layout{offsets: map[string]int{}}
	arguments, result, _ := strings.Cut(strings.TrimPrefix(signature, "("), ")")
	var names []string
	for _, field := range strings.Split(arguments, ",") {
		name, kind, typed := strings.Cut(strings.TrimSpace(field), " ")
		names = append(names, name)
		if !typed {
			continue
		}
		for _, name := range names {
			l.add(name, kind)
		}
		names = nil
	}
	if result = strings.TrimSpace(result); result != "" {
		l.size = (l.size + 7) &^ 7
		l.add("ret", result)
	}
	return l
}

func (l *layout) add(name, kind string) {
	general, _, _ := strings.Cut(kind, "[")
	if fields, ok := structures[general]; ok {
		for _, field := range fields {
			l.add(name+"."+field, "int")
		}
		return
	}
	size := 8
	if kind == "float32" {
		size = 4
	}
	l.size = (l.size + size - 1) &^ (size - 1)
	l.offsets[name] = l.size
	l.size += size
}

// place returns an argument, or a field of one, as Go's assembler names it.
func (f *function) place(name string) string {
	offset, ok := f.params.offsets[name]
	if !ok {
		panic(fmt.Sprintf("arm64: %s has no argument %s", f.name, name))
	}
	return fmt.Sprintf("%s+%d(FP)", strings.ReplaceAll(name, ".", "_"), offset)
}

// Argument returns a register with an argument, a pointer or an integer. Field f of the argument s
// is s.f.
func (m Machine) Argument(name string) GP {
	r := m.GP()
	m.I("MOVD %s, R%w", m.fn.place(name), r)
	return r
}

// Bytes returns a register with an argument that counts elements, in bytes.
func (m Machine) Bytes(name string) GP {
	r := m.Argument(name)
	m.InBytes(r)
	return r
}

// InBytes multiplies a number of elements by the size of an element.
func (m Machine) InBytes(count GP) { m.I("LSL $%d, R%m", m.Shift(), count) }

// Number returns a vector with an argument, an element, in every lane.
func (m Machine) Number(name string) Vec {
	v := m.result()
	m.I("%s %s, F%w", m.scalar(), m.fn.place(name), v)
	m.Into(v).Lane(v, 0)
	return v
}

// SetArgument sets an argument, a pointer or an integer, for later calls of Argument.
func (m Machine) SetArgument(name string, r GP) { m.I("MOVD R%r, %s", r, m.fn.place(name)) }

// Answer writes the result, an integer.
func (m Machine) Answer(r GP) { m.I("MOVD R%r, %s", r, m.fn.place("ret")) }

// AnswerElement writes the result, the first element of a vector.
func (m Machine) AnswerElement(v Vec) { m.I("%s F%r, %s", m.scalar(), v, m.fn.place("ret")) }
