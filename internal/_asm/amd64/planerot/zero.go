package planerot

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// zero writes the sum of 0·x, in four sums that come together at the end. They
// are 0 or NaN: order does not matter.
func (m machine) zero() {
	m.Begin("zero", "(x *T, n int) T", "returns the sum of 0·x[i] over n elements: 0 or NaN.")
	x, n := amd64.Argument("x"), amd64.Argument("n")
	all := m.Registers()
	zero, sums, values := all[0], all[1:5], all[5:9]
	m.Clear(zero)
	for _, s := range sums {
		m.Clear(s)
	}
	loop := func(name string, vectors int) {
		Label(name)
		SUBQ(U8(vectors*m.Lanes()), n)
		JL(LabelRef(name + "end"))
		for i := range vectors {
			m.Mul(Mem{Base: x, Disp: i * m.Width()}, zero, values[i])
			m.Add(values[i], sums[i], sums[i])
		}
		ADDQ(I32(vectors*m.Width()), x)
		JMP(LabelRef(name))
		Label(name + "end")
		ADDQ(U8(vectors*m.Lanes()), n)
	}
	loop("four", len(sums))
	loop("one", 1)
	JZ(LabelRef("summed"))
	m.LoadMasked(m.Mask(n, values[1]), Mem{Base: x}, values[0])
	m.Mul(values[0], zero, values[0])
	m.Add(values[0], sums[0], sums[0])
	Label("summed")
	m.Add(sums[1], sums[0], sums[0])
	m.Add(sums[3], sums[2], sums[2])
	m.Add(sums[2], sums[0], sums[0])
	sum := m.Fold(m.Add, sums[0], values[0])
	VZEROUPPER()
	Store(sum, ReturnIndex(0))
	RET()
}
