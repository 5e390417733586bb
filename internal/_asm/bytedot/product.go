package bytedot

import "fmt"

// epilogue is the use that a kernel makes of the sums of a product.
type epilogue[V, G any] struct {
	name, doc string
	arguments string   // before those of the product
	columns   []string // arguments that have an element a column
	// begin is called once, before all rows. Its result writes the sums of some rows.
	begin func(p *product[V, G]) func(sums [][]V)
}

func scores[V, G any](name string) epilogue[V, G] {
	arguments := "dst *float32, stride int, peaks, rowScales, scales *float32"
	return epilogue[V, G]{name, "computes dst = ((starts + A·B)·rowScales)·scales and raises peaks to what is larger", arguments, []string{"dst", "peaks", "scales"}, func(p *product[V, G]) func(sums [][]V) {
		factors := p.Argument("rowScales")
		var scales, peaks []V
		if p.held() {
			scales, peaks = p.load(p.v, p.Argument("scales")), p.load(p.v, p.Argument("peaks"))
			p.end = func() { p.store(peaks, p.Argument("peaks")) }
		}
		return func(sums [][]V) {
			scales, peaks := scales, peaks
			if !p.held() {
				scales, peaks = p.operands(p.v, p.Argument("scales")), p.load(p.v, p.Argument("peaks"))
			}
			for _, row := range sums {
				factor := p.spread(1, factors)[0]
				for j, s := range row {
					p.toFloats(s)
					p.Mul(s, factor, s)
					p.Mul(s, scales[j], s)
					p.raise(peaks[j], s)
				}
				p.write(row)
			}
			if !p.held() {
				p.store(peaks, p.Argument("peaks"))
			}
		}
	}}
}

func add[V, G any](name string) epilogue[V, G] {
	arguments := "dst *float32, stride int, rowScales, olds, news *float32"
	return epilogue[V, G]{name, "computes dst = dst·olds + (starts + A·B)·(rowScales·news)", arguments, []string{"dst", "olds", "news"}, func(p *product[V, G]) func(sums [][]V) {
		factors := p.Argument("rowScales")
		return func(sums [][]V) {
			olds, news := p.operands(p.v, p.Argument("olds")), p.operands(p.v, p.Argument("news"))
			for _, row := range sums {
				factor := p.spread(1, factors)[0]
				for j, s := range row {
					scale := p.Mul(factor, news[j])
					p.toFloats(s)
					p.Mul(s, scale, s)
					old := p.Load(p.dst, j*p.Width())
					p.Mul(old, olds[j], old)
					p.Add(s, old, s)
				}
				p.write(row)
			}
		}
	}}
}

type product[V, G any] struct {
	machine[V, G]
	v              int // vectors of columns that are summed at a time
	step           int // bytes between groups of B
	dst, a, starts G
	row, group     G
	stride         G
	multiply       func(left []G, b G, sums [][]V)
	end            func()
}

func (p *product[V, G]) write(row []V) {
	p.store(row, p.dst)
	p.AdvanceBy(p.dst, p.stride)
}

// product writes the product of the rows of A and a panel of sixteens·16 columns of B, in parts of
// the columns. After a part the arguments that have an element a column advance.
func (k writer[V, G]) product(e epilogue[V, G], sixteens int) {
	k.Begin(fmt.Sprintf("%s%d", e.name, sixteens), "("+e.arguments+", starts *int32, a *int8, row, group int, b *uint8, rows, groups int)",
		fmt.Sprintf("%s for rows of A and %d columns of B.", e.doc, lanes*sixteens))
	p := &product[V, G]{machine: k.machine, step: sixteens * lanes * groupBytes, end: func() {}}
	vectors, parts := k.columns(sixteens)
	p.v = vectors
	var left G
	if parts > 1 {
		left = k.counter(parts)
		k.Label("part")
	}
	p.dst, p.a, p.starts = k.Argument("dst"), k.Argument("a"), k.Argument("starts")
	p.row, p.group, p.stride = k.Argument("row"), k.Argument("group"), k.bytes("stride")
	p.multiply = k.multiplier()
	rows, finish := k.Argument("rows"), e.begin(p)
	const strip = 4 // rows that are summed at a time
	k.less(rows, strip, "rest")
	k.Label("strip")
	p.sum("strip", strip, finish)
	k.notLess(rows, strip, "strip")
	k.Label("rest")
	k.none(rows, strip, "done")
	k.Label("single")
	p.sum("single", 1, finish)
	k.Repeat("single", rows)
	k.Label("done")
	p.end()
	if parts > 1 {
		for _, name := range append(e.columns, "b") {
			k.advanceArgument(name, lanes*4)
		}
		k.Repeat("part", left)
	}
	k.End()
}

func (p *product[V, G]) sum(label string, rows int, finish func(sums [][]V)) {
	sums := make([][]V, rows)
	for i := range sums {
		sums[i] = p.spread(p.v, p.starts)
	}
	left, b, groups := p.leftRows(p.a, p.row, rows), p.Argument("b"), p.Argument("groups")
	p.Label(label + "Groups")
	p.multiply(left, b, sums)
	p.nextGroup(left, p.group)
	p.Advance(b, p.step)
	p.Repeat(label+"Groups", groups)
	finish(sums)
	p.advanceTimes(p.a, p.row, rows)
}
