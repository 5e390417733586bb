package amd64

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
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

// Argument returns a register with the argument of that name, a pointer or an integer.
func Argument(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// Number returns the address of the argument of that name, an element.
func Number(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// End ends a function.
func End() {
	VZEROUPPER()
	RET()
}
