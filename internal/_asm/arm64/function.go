package arm64

import (
	"fmt"
	"strings"
)

// Vec and GP are registers that the allocator chooses: of vectors, and of integers and addresses.
type (
	Vec int
	GP  int
)

type function struct {
	name, signature, doc string
	params               layout
	code                 []instruction
	registers            []bool // for each register of the function: is it a vector
	pool                 GP     // the address of the constants
	usesPool             bool
	local                int // bytes of memory
}

// instruction is a line of a function: a label, or an instruction of Go's assembler, or a word.
type instruction struct {
	label         string
	parts         []any // text and registers in turns; empty for a label
	reads, writes []int
	to            string // where it may jump
	last          bool   // nothing follows
	word          *word
}

// Begin starts a function. In its signature T stands for the element type.
func (m Machine) Begin(name, signature, doc string) {
	name += m.Name
	element := m.Element()
	signature = strings.NewReplacer("*T", "*"+element, "[T]", "["+element+"]", " T", " "+element).Replace(signature)
	m.fn = &function{name: name, signature: signature, doc: doc, params: parse(signature)}
	m.fn.pool = m.GP()
}

// End ends a function: what follows is not part of it.
func (m Machine) End() {
	m.Return()
	m.finish()
	m.fn = nil
}

// Return leaves the function.
func (m Machine) Return() {
	m.I("RET")
	m.fn.code[len(m.fn.code)-1].last = true
}

// Vec returns a register.
func (m Machine) Vec() Vec { return Vec(m.fn.register(true)) }

// Vecs returns n registers.
func (m Machine) Vecs(n int) []Vec {
	v := make([]Vec, n)
	for i := range v {
		v[i] = m.Vec()
	}
	return v
}

// GP returns a register.
func (m Machine) GP() GP { return GP(m.fn.register(false)) }

// CopyOf returns a register with the same value.
func (m Machine) CopyOf(a GP) GP {
	r := m.GP()
	m.I("MOVD R%r, R%w", a, r)
	return r
}

// Advance adds a number of bytes to an address.
func (m Machine) Advance(p GP, bytes int) { m.I("ADD $%d, R%m", bytes, p) }

// AdvanceBy adds a number of bytes in a register to an address.
func (m Machine) AdvanceBy(p, bytes GP) { m.I("ADD R%r, R%m", bytes, p) }

func (f *function) register(vector bool) int {
	f.registers = append(f.registers, vector)
	return len(f.registers) - 1
}

// Label marks a place.
func (m Machine) Label(name string) {
	m.fn.code = append(m.fn.code, instruction{label: name})
}

// Jump jumps to a label.
func (m Machine) Jump(label string) { m.I("B %j", label) }

// CountDown counts down and jumps to a label if nothing is left.
func (m Machine) CountDown(left GP, label string) {
	m.I("SUBS $1, R%m", left)
	m.I("BEQ %j", label)
}

// Repeat counts down and jumps to a label unless nothing is left.
func (m Machine) Repeat(label string, left GP) { m.RepeatBy(label, left, 1) }

// RepeatBy subtracts step from left, and jumps to a label unless left is 0.
func (m Machine) RepeatBy(label string, left GP, step int) {
	m.I("SUBS $%d, R%m", step, left)
	m.I("BNE %j", label)
}

// I writes an instruction as Go's assembler has it. In the format %r stands for the number of a
// register that is read, %w of one that is written, %m of one that is both, %j for the label of a
// jump; all other verbs are those of fmt.
func (m Machine) I(format string, args ...any) {
	var i instruction
	for at := 0; ; {
		p := strings.IndexByte(format[at:], '%')
		if p < 0 {
			i.parts = append(i.parts, format[at:])
			break
		}
		i.parts = append(i.parts, format[at:at+p])
		verb := format[at+p+1]
		arg := args[0]
		args = args[1:]
		at += p + 2
		switch verb {
		case 'j':
			i.to = arg.(string)
			i.parts = append(i.parts, i.to)
			continue
		case 'r', 'w', 'm':
			i.use(verb, number(arg))
		default:
			i.parts = append(i.parts, fmt.Sprintf("%"+string(verb), arg))
		}
	}
	if len(args) > 0 {
		panic(fmt.Sprintf("arm64: %s: operands left for %q", m.fn.name, format))
	}
	i.last = strings.HasPrefix(format, "B %")
	m.fn.code = append(m.fn.code, i)
}

func number(register any) int {
	switch r := register.(type) {
	case Vec:
		return int(r)
	case GP:
		return int(r)
	}
	panic(fmt.Sprintf("arm64: %T is no register", register))
}
