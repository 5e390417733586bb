package amd64

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Vectors is a machine with the methods of a kernel.Machine. A vector may be in memory where an
// instruction allows that.
type Vectors struct{ Machine }

func (m Vectors) End()                            { End() }
func (m Vectors) Argument(name string) Register   { return Argument(name) }
func (m Vectors) Number(name string) Op           { return m.Broadcast(Number(name)) }
func (m Vectors) Label(name string)               { Label(name) }
func (m Vectors) Jump(label string)               { JMP(LabelRef(label)) }
func (m Vectors) Repeat(label string, n Register) { Repeat(label, n) }
func (m Vectors) InBytes(count Register)          { SHLQ(U8(m.Shift()), count) }
func (m Vectors) Advance(p Register, bytes int)   { ADDQ(U32(bytes), p) }
func (m Vectors) AdvanceBy(p, bytes Register)     { ADDQ(bytes, p) }

func (m Vectors) CopyOf(a Register) Register {
	r := GP64()
	MOVQ(a, r)
	return r
}

func (m Vectors) Zero() Op {
	v := m.Vec()
	m.Machine.Xor(v, v, v)
	return v
}

func (m Vectors) Load(p Register, offset int) Op { return m.Move(Mem{Base: p, Disp: offset}) }

func (m Vectors) Store(v Op, p Register, offset int) {
	m.Machine.Move(v, Mem{Base: p, Disp: offset})
}

func (m Vectors) CountDown(left Register, label string) {
	DECQ(left)
	JZ(LabelRef(label))
}

func (m Vectors) RepeatBy(label string, left Register, step int) {
	SUBQ(U32(step), left)
	JG(LabelRef(label))
}

func (m Vectors) result(into []Op) Op {
	if len(into) > 0 {
		return into[0]
	}
	return m.Vec()
}

func (m Vectors) apply(instruction func(ops ...Op), a, b Op, into []Op) Op {
	v := m.result(into)
	instruction(b, a, v)
	return v
}

func (m Vectors) Move(v Op, into ...Op) Op {
	to := m.result(into)
	m.Machine.Move(v, to)
	return to
}

func (m Vectors) Add(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Add, a, b, into) }
func (m Vectors) Sub(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Sub, a, b, into) }
func (m Vectors) Mul(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Mul, a, b, into) }
func (m Vectors) Div(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Div, a, b, into) }
func (m Vectors) Min(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Min, a, b, into) }
func (m Vectors) Max(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Max, a, b, into) }
func (m Vectors) And(a, b Op, into ...Op) Op    { return m.apply(m.Machine.And, a, b, into) }
func (m Vectors) Or(a, b Op, into ...Op) Op     { return m.apply(m.Machine.Or, a, b, into) }
func (m Vectors) Xor(a, b Op, into ...Op) Op    { return m.apply(m.Machine.Xor, a, b, into) }
func (m Vectors) AddInt(a, b Op, into ...Op) Op { return m.apply(m.Machine.AddInt, a, b, into) }
func (m Vectors) SubInt(a, b Op, into ...Op) Op { return m.apply(m.Machine.SubInt, a, b, into) }

func (m Vectors) Left(v Op, bits int, into ...Op) Op {
	return m.apply(m.Machine.Left, v, U8(bits), into)
}

func (m Vectors) Right(v Op, bits int, into ...Op) Op {
	return m.apply(m.Machine.Right, v, U8(bits), into)
}

func (m Vectors) AddMul(a, b Op, into ...Op) Op {
	m.Machine.Plus(b, a, into[0])
	return into[0]
}

func (m Vectors) SubMul(a, b Op, into ...Op) Op {
	m.Machine.Minus(b, a, into[0])
	return into[0]
}
