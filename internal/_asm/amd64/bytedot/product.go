package bytedot

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// epilogue is what becomes of the sums of a product.
type epilogue struct {
	name, doc string
	arguments string   // before those of the product
	slices    []string // arguments that have an element a column
	// begin is called once, before all rows, and what it returns is called for some rows.
	begin func(p *product) func(sums [][]Op)
}

// mul writes integers.
func (m machine) mul() epilogue {
	return epilogue{"mul", "computes dst = starts + A·B", "dst *int32, stride int", []string{"dst"}, func(p *product) func(sums [][]Op) {
		return func(sums [][]Op) {
			to := copyOf(p.dst)
			for i := range sums {
				p.storeAll(sums[i], to)
				p.next(to, i, len(sums))
			}
		}
	}}
}

// scores writes scaled numbers and raises peaks.
func (m machine) scores() epilogue {
	arguments := "dst *float32, stride int, peaks, rowScales, scales *float32"
	return epilogue{"scores", "computes dst = ((starts + A·B)·rowScales)·scales and raises peaks to what is larger", arguments, []string{"dst", "peaks", "scales"}, func(p *product) func(sums [][]Op) {
		factor := amd64.Argument("rowScales")
		var scales, peaks []Op
		if p.Wide {
			scales = p.loadAll(p.v, amd64.Argument("scales"))
			peaks = p.loadAll(p.v, amd64.Argument("peaks"))
		}
		p.end = func() {
			if p.Wide {
				p.storeAll(peaks, amd64.Argument("peaks"))
			}
		}
		return func(sums [][]Op) {
			scales, peaks := scales, peaks
			if !p.Wide {
				at := amd64.Argument("scales")
				for j := range p.v {
					scales = append(scales, Mem{Base: at, Disp: j * p.Width()})
				}
				peaks = p.loadAll(p.v, amd64.Argument("peaks"))
			}
			to := copyOf(p.dst)
			for i := range sums {
				row := p.factor(factor, i)
				for j, s := range sums[i] {
					VCVTDQ2PS(s, s)
					VMULPS(row, s, s)
					VMULPS(scales[j], s, s)
					VMAXPS(peaks[j], s, peaks[j]) // of NaN and a peak the peak is left
				}
				p.storeAll(sums[i], to)
				p.next(to, i, len(sums))
			}
			if !p.Wide {
				p.storeAll(peaks, amd64.Argument("peaks"))
			}
			ADDQ(U32(4*len(sums)), factor)
		}
	}}
}

// add adds scaled numbers to scaled sums.
func (m machine) add() epilogue {
	arguments := "dst *float32, stride int, rowScales, olds, news *float32"
	return epilogue{"add", "computes dst = dst·olds + (starts + A·B)·(rowScales·news)", arguments, []string{"dst", "olds", "news"}, func(p *product) func(sums [][]Op) {
		factor := amd64.Argument("rowScales")
		return func(sums [][]Op) {
			olds, news := amd64.Argument("olds"), amd64.Argument("news")
			to := copyOf(p.dst)
			for i := range sums {
				row := p.factor(factor, i)
				for j, s := range sums[i] {
					scale, old := p.Vec(), p.Vec()
					VMULPS(at(news, j*p.Width()), row, scale)
					VCVTDQ2PS(s, s)
					VMULPS(scale, s, s)
					p.load(at(to, j*p.Width()), old)
					VMULPS(at(olds, j*p.Width()), old, old)
					VADDPS(old, s, s)
				}
				p.storeAll(sums[i], to)
				p.next(to, i, len(sums))
			}
			ADDQ(U32(4*len(sums)), factor)
		}
	}}
}

// product is a product that is being written.
type product struct {
	machine
	v              int // vectors of columns that are summed at a time
	step           int // bytes between groups of B
	dst, a, starts GPVirtual
	row, three     GPVirtual // one and three rows of A
	group          GPVirtual
	rows, stride   GPVirtual
	end            func()
}

// product writes the product of the rows of A and a panel of sixteens·16 columns of B.
//
// Some rows times some vectors of columns are summed in registers. A wide machine takes the whole
// panel at a time. Any other takes sixteen columns, after which the arguments go on.
func (m machine) product(e epilogue, sixteens int) {
	name := fmt.Sprintf("%s%d", e.name, sixteens)
	m.Begin(name, "("+e.arguments+", starts *int32, a *int8, row, group int, b *uint8, rows, groups int)",
		fmt.Sprintf("%s for rows of A and %d columns of B.", e.doc, lanes*sixteens))
	p := &product{machine: m, v: m.vectors(), step: sixteens * lanes * groupBytes}
	var left GPVirtual
	parts := sixteens
	if m.Wide {
		p.v, parts = sixteens, 1
	}
	if parts > 1 {
		left = GP64()
		MOVQ(U32(parts), left)
		Label("part")
	}
	p.write(e)
	if parts > 1 {
		for _, s := range e.slices {
			ADDQ(U32(lanes*4), amd64.Number(s))
		}
		ADDQ(U32(lanes*groupBytes), amd64.Number("b"))
		amd64.Repeat("part", left)
	}
	amd64.End()
}

// strip is the number of rows that are summed at a time while there are so many.
const strip = 4

func (p *product) write(e epilogue) {
	p.dst, p.a, p.starts = amd64.Argument("dst"), amd64.Argument("a"), amd64.Argument("starts")
	p.row, p.group = amd64.Argument("row"), amd64.Argument("group")
	p.rows, p.stride = amd64.Argument("rows"), bytes("stride")
	p.three = GP64()
	LEAQ(Mem{Base: p.row, Index: p.row, Scale: 2}, p.three)
	p.end = func() {}
	finish := e.begin(p)
	SUBQ(U8(strip), p.rows)
	JLT(LabelRef("rest"))
	Label("strip")
	p.sum("strip", strip, finish)
	LEAQ(Mem{Base: p.a, Index: p.row, Scale: strip}, p.a)
	LEAQ(Mem{Base: p.dst, Index: p.stride, Scale: strip}, p.dst)
	SUBQ(U8(strip), p.rows)
	JGE(LabelRef("strip"))
	Label("rest")
	ADDQ(U8(strip), p.rows)
	JZ(LabelRef("done"))
	Label("single")
	p.sum("single", 1, finish)
	ADDQ(p.row, p.a)
	ADDQ(p.stride, p.dst)
	amd64.Repeat("single", p.rows)
	Label("done")
	p.end()
}

// sum writes the sums of some rows.
func (p *product) sum(label string, rows int, finish func(sums [][]Op)) {
	sums := make([][]Op, rows)
	for i := range sums {
		sums[i] = p.Vecs(p.v)
		for _, s := range sums[i] {
			spread(at(p.starts, 4*i), s)
		}
	}
	ADDQ(U8(4*rows), p.starts)
	a, b, groups := copyOf(p.a), amd64.Argument("b"), amd64.Argument("groups")
	Label(label + "Groups")
	if p.Wide {
		columns := p.loadAll(p.v, b)
		for i := range sums {
			four := p.Vec()
			spread(p.rowAt(a, i), four)
			for j, s := range sums[i] {
				amd64.PlusBytes(four, columns[j], s)
			}
		}
	} else {
		p.pairs(a, b, sums)
	}
	ADDQ(p.group, a)
	ADDQ(U32(p.step), b)
	amd64.Repeat(label+"Groups", groups)
	finish(sums)
}

// pairs adds the products of a group: the even bytes of B and the odd ones as 16 bits, with the even
// and the odd ones of A as [machine.widen] has them.
func (p *product) pairs(a, b Register, sums [][]Op) {
	even, odd := p.loadAll(p.v, b), p.Vecs(p.v)
	for j := range even {
		VPSRLW(U8(8), even[j], odd[j])
		VPAND(constant("evenBytes", 0x00ff00ff), even[j], even[j])
	}
	for i := range sums {
		for h, columns := range [][]Op{even, odd} {
			two := p.Vec()
			spread(p.rowAt(a, i).Offset(4*h), two)
			for j, s := range sums[i] {
				products := p.Vec()
				VPMADDWD(two, columns[j], products)
				VPADDD(products, s, s)
			}
		}
	}
}

// rowAt is the address of row i of a strip of A.
func (p *product) rowAt(a Register, i int) Mem {
	switch i {
	case 0:
		return Mem{Base: a}
	case 3:
		return Mem{Base: a, Index: p.three, Scale: 1}
	}
	return Mem{Base: a, Index: p.row, Scale: uint8(i)}
}

// factor returns the factor of row i of a strip.
func (p *product) factor(factors Register, i int) Op { return p.Broadcast(at(factors, 4*i)) }

// next goes on to the next row of a strip, unless there is none.
func (p *product) next(to Register, i, rows int) {
	if i < rows-1 {
		ADDQ(p.stride, to)
	}
}
