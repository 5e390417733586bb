// Command _asm writes the amd64 kernels of package planerot.
//
//	go run -tags purego . -out ../planerot_amd64.s -stubs ../stubs_amd64.go -pkg planerot
package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego,!noasm")
	for _, m := range machines() {
		m.masks.constants(m)
		for vectors := 1; vectors <= 4; vectors++ {
			m.turn(vectors)
		}
		m.enter()
		m.leave()
		m.zero()
	}
	Generate()
}

// begin starts a function. In its signature T stands for the element type.
func (m machine) begin(name, signature, doc string) {
	name += m.name
	TEXT(name, NOSPLIT, "func"+strings.ReplaceAll(signature, "T", fmt.Sprintf("float%d", 8*m.size)))
	Doc(name + " " + doc)
	Pragma("noescape")
}

// argument returns a register with the argument of that name.
func argument(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }
