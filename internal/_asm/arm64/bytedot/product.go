package bytedot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// epilogue is what becomes of the sums of a product.
type epilogue struct {
	name, doc string
	arguments string   // before those of the product
	slices    []string // arguments that have an element a column
	finish    func(p *product, sums [][]arm64.Vec)
}

// mul writes integers.
func (m machine) mul() epilogue {
	return epilogue{"mul", "computes dst = starts + A·B", "dst *int32, stride int", nil, func(p *product, sums [][]arm64.Vec) {
		for _, row := range sums {
			p.StoreAll(row, p.to, 0)
			p.I("ADD R%r, R%m", p.stride, p.to)
		}
	}}
}

// scores writes scaled numbers and raises peaks.
func (m machine) scores() epilogue {
	arguments := "dst *float32, stride int, peaks, rowScales, scales *float32"
	return epilogue{"scores", "computes dst = ((starts + A·B)·rowScales)·scales and raises peaks to what is larger", arguments, []string{"peaks", "scales"}, func(p *product, sums [][]arm64.Vec) {
		peaks, scales := p.sixteen(p.slices[0]), p.sixteen(p.slices[1])
		for _, row := range sums {
			factor := p.BroadcastNext(p.factors)
			for j, s := range row {
				p.Into(s).ToFloats(s)
				p.Into(s).Mul(s, factor)
				p.Into(s).Mul(s, scales[j])
				p.Into(peaks[j]).MaxNumber(peaks[j], s)
			}
			p.StoreAll(row, p.to, 0)
			p.I("ADD R%r, R%m", p.stride, p.to)
		}
		p.StoreAll(peaks, p.slices[0], 0)
	}}
}

// add adds scaled numbers to scaled sums.
func (m machine) add() epilogue {
	arguments := "dst *float32, stride int, rowScales, olds, news *float32"
	return epilogue{"add", "computes dst = dst·olds + (starts + A·B)·(rowScales·news)", arguments, []string{"olds", "news"}, func(p *product, sums [][]arm64.Vec) {
		olds, news := p.sixteen(p.slices[0]), p.sixteen(p.slices[1])
		for _, row := range sums {
			factor := p.BroadcastNext(p.factors)
			for j, s := range row {
				p.Into(s).ToFloats(s)
				p.Into(s).Mul(s, p.Mul(factor, news[j]))
				old := p.Mul(p.Load(p.to, j*arm64.Width), olds[j])
				p.Into(s).Add(old, s)
			}
			p.StoreAll(row, p.to, 0)
			p.I("ADD R%r, R%m", p.stride, p.to)
		}
	}}
}

// product is a product that is being written.
type product struct {
	machine
	step                     int // bytes between groups of B
	to, stride, starts       arm64.GP
	a, row, group, b, groups arm64.GP
	factors                  arm64.GP
	slices                   []arm64.GP
	sign                     arm64.Vec
	finish                   func(p *product, sums [][]arm64.Vec)
}

// strip is the number of rows that are summed at a time while there are so many.
const strip = 4

// product writes the product of the rows of A and a panel of sixteens·16 columns of B, of which it
// takes sixteen at a time.
func (m machine) product(e epilogue, sixteens int) {
	m.Begin(fmt.Sprintf("%s%d", e.name, sixteens), "("+e.arguments+", starts *int32, a *int8, row, group int, b *uint8, rows, groups int)",
		fmt.Sprintf("%s for rows of A and %d columns of B, of bytes less 128.", e.doc, lanes*sixteens))
	p := &product{machine: m, step: sixteens * lanes * groupBytes, finish: e.finish}
	p.stride, p.row, p.group, p.groups = m.Bytes("stride"), m.Argument("row"), m.Argument("group"), m.Argument("groups")
	for _, s := range e.slices {
		p.slices = append(p.slices, m.Argument(s))
	}
	p.sign = m.repeated(128)
	dst, left := m.Argument("dst"), m.GP()
	p.b = m.Argument("b")
	m.I("MOVD $%d, R%w", sixteens, left)

	m.Label("part")
	p.to, p.starts, p.a = m.CopyOf(dst), m.Argument("starts"), m.Argument("a")
	if e.name != "mul" {
		p.factors = m.Argument("rowScales")
	}
	rows := m.Argument("rows")
	m.I("SUBS $%d, R%m", strip, rows)
	m.I("BLT %j", "rest")
	m.Label("strip")
	p.sum("strip", strip)
	m.I("SUBS $%d, R%m", strip, rows)
	m.I("BGE %j", "strip")
	m.Label("rest")
	m.I("ADDS $%d, R%m", strip, rows)
	m.I("BEQ %j", "done")
	m.Label("single")
	p.sum("single", 1)
	m.Repeat("single", rows)
	m.Label("done")
	for _, s := range append([]arm64.GP{dst, p.b}, p.slices...) {
		m.I("ADD $%d, R%m", lanes*4, s)
	}
	m.Repeat("part", left)
	m.End()
}

// sum writes the sums of some rows.
func (p *product) sum(label string, rows int) {
	from, at := p.Pointers(p.a, p.row, rows), p.GP()
	sums := make([][]arm64.Vec, rows)
	for i := range sums {
		first := p.BroadcastNext(p.starts)
		sums[i] = []arm64.Vec{first}
		for range vectors - 1 {
			sums[i] = append(sums[i], p.Move(first))
		}
	}
	b, groups := p.CopyOf(p.b), p.CopyOf(p.groups)
	p.I("MOVD $0, R%w", at)
	p.Label(label + "Groups")
	columns := p.sixteen(b)
	p.I("ADD $%d, R%m", p.step, b)
	for _, c := range columns {
		p.Into(c).Xor(c, p.sign)
	}
	for i, row := range sums {
		four := p.LoadElementAt(from[i], at)
		for j, s := range row {
			p.DotFirst(s, columns[j], four)
		}
	}
	p.I("ADD R%r, R%m", p.group, at)
	p.Repeat(label+"Groups", groups)
	p.finish(p, sums)
	p.I("ADD R%r, R%r, R%w", p.row, from[rows-1], p.a)
}
