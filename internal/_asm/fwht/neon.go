package fwht

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	. "github.com/seed-feabd252/randfeat/internal/_asm/kernel"
	"github.com/seed-feabd252/randfeat/internal/_asm/terms"
)

type neon struct{ arm64.Machine }

// WriteARM64 writes the kernels of arm64.
func WriteARM64(f *arm64.File) {
	for _, m := range arm64.Machines(f) {
		k := writer[arm64.Vec, arm64.GP]{neon{m}, 4, 8, 1, 1}
		k.write()
		for _, h := range terms.Orders {
			k.core(h, terms.Of(h))
		}
	}
}

func (m neon) signs(n int) []arm64.Vec {
	signs := make([]arm64.Vec, n)
	for s := range signs {
		lane := func(i int) uint64 { return m.Bits(float64(1 - i>>s&1*2)) }
		if m.Size == 8 {
			signs[s] = m.Constant(lane(0), lane(1))
		} else {
			signs[s] = m.Constant(lane(0)|lane(1)<<32, lane(2)|lane(3)<<32)
		}
	}
	return signs
}

func (m neon) exchange(s int, x arm64.Vec) arm64.Vec {
	v := m.Vec()
	if m.Size<<s == 4 {
		m.I("VREV64 V%r.S4, V%w.S4", x, v)
	} else {
		m.I("VEXT $8, V%r.B16, V%r.B16, V%w.B16", x, x, v)
	}
	return v
}

func (m neon) differences() (difference func(a, b arm64.Vec, h int) arm64.Vec, negated func(a, b arm64.Vec) arm64.Vec) {
	return func(a, b arm64.Vec, _ int) arm64.Vec { return m.Sub(a, b) },
		func(a, b arm64.Vec) arm64.Vec { return m.Sub(m.Neg(a), b) }
}

func (m neon) loadBlock(v []arm64.Vec, first int, b elementBlock[arm64.GP]) {
	if b.kind == streaming && first == 0 {
		ahead := m.GP()
		m.I("ADD R%r, R%r, R%w", b.src, b.ahead, ahead)
		for at := 0; at < b.size; at += line {
			m.I("PRFM %d(R%r), PLDL2KEEP", at, ahead)
		}
	}
	copy(v, m.Vecs(len(v)))
	m.LoadTo(v, b.src, first*arm64.Width)
	if b.kind == signed {
		f := m.Vecs(len(v))
		m.LoadTo(f, b.factor, first*arm64.Width)
		Each(m.Mul, v, f, v)
	}
}

func (m neon) lastStage(k writer[arm64.Vec, arm64.GP], v []arm64.Vec, h int, difference func(a, b arm64.Vec, h int) arm64.Vec, dst arm64.GP) {
	k.butterflies(v, h, difference, nil)
	m.StoreAll(v, dst, 0)
}

func (m neon) passes(r int, p, stride, columns, count arm64.GP, body func(load func(i int) arm64.Vec, store func(v arm64.Vec, i int))) {
	m.Label("block")
	rows, at := m.Pointers(m.CopyOf(p), stride, 1<<r), m.GP()
	m.I("MOVD $0, R%w", at)
	m.Label("column")
	body(func(i int) arm64.Vec { return m.LoadAt(rows[i], at) }, func(v arm64.Vec, i int) { m.StoreAt(v, rows[i], at) })
	m.Advance(at, arm64.Width)
	m.I("CMP R%r, R%r", columns, at)
	m.I("BLT %j", "column")
	m.I("ADD R%r<<%d, R%m", stride, r, p)
	m.Repeat("block", count)
}

type neonWalk struct {
	neon
	p, stride arm64.GP
}

func (m neon) walk(stride arm64.GP) func(p arm64.GP) walk[arm64.Vec] {
	return func(p arm64.GP) walk[arm64.Vec] { return neonWalk{m, p, stride} }
}

func (w neonWalk) load(int) arm64.Vec {
	v := w.Load(w.p, 0)
	w.AdvanceBy(w.p, w.stride)
	return v
}

func (w neonWalk) store(v arm64.Vec, _ int) {
	w.Store(v, w.p, 0)
	w.AdvanceBy(w.p, w.stride)
}

func (w neonWalk) next() {}

func (m neon) columns(arm64.GP) {}

func (m neon) combine(k writer[arm64.Vec, arm64.GP]) {
	g, x, stride, count := k.beginCombine()
	m.Label("loop")
	c := k.combinations(m.walk(stride)(x).load)
	for _, v := range c[:8:8] {
		c = append(c, m.Neg(v))
	}
	m.StoreAll(c, g, 0)
	m.Advance(g, 16*arm64.Width)
	m.Repeat("loop", count)
	m.End()
}

func (m neon) sums() {
	m.Begin("sums", signatureOfSums, docOfSums)
	y, stride, g := m.Argument("y"), m.Bytes("stride"), m.Argument("groups")
	next, n, count := m.Argument("terms"), m.Argument("n"), m.Argument("count")
	m.Label("rows")
	terms := make([]arm64.GP, 4)
	for i := range terms {
		terms[i] = m.CopyOf(next)
		m.I("ADD R%r<<1, R%m", n, next)
	}
	vector := func(i int) arm64.Vec {
		at := m.GP()
		m.I("MOVHU.P 2(R%m), R%w", terms[i], at)
		m.I("ADD R%r<<4, R%r, R%w", at, g, at)
		return m.Load(at, 0)
	}
	acc := make([]arm64.Vec, 4)
	for i := range acc {
		acc[i] = vector(i)
	}
	left := m.CopyOf(n)
	m.Label("terms")
	m.I("SUBS $1, R%m", left)
	m.I("BEQ %j", "store")
	for i := range acc {
		m.Add(acc[i], vector(i), acc[i])
	}
	m.Jump("terms")
	m.Label("store")
	for _, v := range acc {
		m.Store(v, y, 0)
		m.AdvanceBy(y, stride)
	}
	m.Repeat("rows", count)
	m.End()
}

func (m neon) times() {
	m.Begin("times", signatureOfTimes, docOfTimes)
	dst, x, f, count := m.Argument("dst"), m.Argument("x"), m.Argument("f"), m.Argument("count")
	loadNext := func(p arm64.GP) arm64.Vec {
		v := m.Vec()
		m.I("FMOVQ.P %d(R%m), F%w", arm64.Width, p, v)
		return v
	}
	m.Label("loop")
	m.I("FMOVQ.P F%r, %d(R%m)", m.Mul(loadNext(x), loadNext(f)), arm64.Width, dst)
	m.Repeat("loop", count)
	m.End()
}
