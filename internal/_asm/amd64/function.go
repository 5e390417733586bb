package amd64

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Begin starts a function. In its signature T stands for the element type.
func (m Machine) Begin(name, signature, doc string) {
	name += m.Name
	TEXT(name, NOSPLIT, "func"+strings.ReplaceAll(signature, "T", m.Element()))
	Doc(name + " " + doc)
	Pragma("noescape")
}

// Argument returns a register with an argument, a pointer or an integer. Field f of the argument s
// is s.f.
func Argument(name string) GPVirtual { return Load(argument(name), GP64()).(GPVirtual) }

// Number returns the address of an argument, an element.
func Number(name string) Mem {
	p, err := argument(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

func argument(name string) gotypes.Component {
	name, field, ok := strings.Cut(name, ".")
	if !ok {
		return Param(name)
	}
	return Param(name).Field(field)
}

// Repeat counts down and jumps to a label unless nothing is left.
func Repeat(label string, left Op) {
	DECQ(left)
	JNZ(LabelRef(label))
}

// End ends a function.
func End() {
	VZEROUPPER()
	RET()
}
