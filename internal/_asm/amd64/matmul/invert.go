package matmul

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// invert writes the inversion of a lower triangle of order 16 at most, for machines whose
// registers hold it: two vectors a row, of which the second is zero in the first rows.
func (m machine) invert() {
	const most = 16
	lanes := m.Lanes()
	unit := m.Table("unit"+m.Name, 2*most, func(i int) uint64 {
		if i == most {
			return m.Bits(1)
		}
		return 0
	})
	m.Begin("invert", "(n int, x *T, stride int, diag *T)",
		fmt.Sprintf("replaces the lower triangle of order n ≤ %d at x with diagonal diag by its inverse.", most))
	n, x := amd64.Argument("n"), amd64.Argument("x")
	stride, diag := amd64.Argument("stride"), amd64.Argument("diag")
	first := m.Mask(n, nil)
	if lanes < most {
		KSHIFTRW(U8(lanes), first, K2)
	}
	units, from, one, zero := GP64(), GP64(), m.vectors[30], m.vectors[31]
	LEAQ(unit, units)
	m.Fill(Mem{Base: units, Disp: most * m.Size}, one)
	m.Clear(zero)
	// Column j of row i is in lane j%lanes of rows[i][j/lanes].
	var rows [most][]VecPhysical
	free := m.vectors
	MOVQ(x, from)
	for i := range most {
		CMPQ(n, U32(i))
		JEQ(LabelRef("store"))
		// Row i of the inverse X is (e_i − Σ_{l<i} t_il·X_l) / λ_i.
		for v := range i/lanes + 1 {
			rows[i] = append(rows[i], free[0])
			free = free[1:]
			m.Move(Mem{Base: units, Disp: (most - i + v*lanes) * m.Size}, rows[i][v])
		}
		for l := range i {
			for v, r := range rows[l] {
				amd64.Of(m.Machine, VFNMADD231PS_BCST, VFNMADD231PD_BCST)(Mem{Base: from, Disp: l * m.Size}, r, rows[i][v])
			}
		}
		inverse := m.vectors[29]
		m.reciprocal(Mem{Base: diag, Disp: i * m.Size}, one, inverse)
		for _, r := range rows[i] {
			m.Mul(inverse, r, r)
		}
		ADDQ(stride, from)
	}
	Label("store")
	for i := range most {
		for v := range most / lanes {
			r := zero
			if v < len(rows[i]) {
				r = rows[i][v]
			}
			m.StoreMasked([]Op{first, K2}[v], r, Mem{Base: x, Disp: v * m.Width()})
		}
		ADDQ(stride, x)
		DECQ(n)
		JZ(LabelRef("done"))
	}
	Label("done")
	amd64.End()
}

// reciprocal sets all of dst to 1/a for an element a in memory.
func (m machine) reciprocal(a Op, one, dst VecPhysical) {
	x := dst.AsX()
	amd64.Of(m.Machine, VDIVSS, VDIVSD)(a, one.AsX(), x)
	m.Fill(x, dst)
}
