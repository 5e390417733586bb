// Package fwht writes the arm64 kernels of package fwht.
package fwht

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/_asm/terms"
)

// machine is a machine with the kernels as methods. A vector has 1<<log elements.
type machine struct {
	arm64.Machine
	log int
}

// radix is the binary logarithm of the number of vectors that fit the registers with room to work.
const radix = 4

// Write writes all kernels.
func Write(f *arm64.File) {
	for _, general := range arm64.Machines(f) {
		m := machine{general, arm64.Of(general, 2, 1)}
		for r := 0; r <= radix; r++ {
			m.base(r, plain)
			m.base(r, signed)
			m.base(r, streaming)
		}
		for s := 1; s < m.log; s++ {
			m.lanes(s)
		}
		for r := 3; r <= radix; r++ {
			m.pass(r)
		}
		m.times()
		m.combine()
		m.sums()
		for _, h := range terms.Orders {
			m.core(h, terms.Of(h))
		}
	}
}

// exchange returns x with each lane and its partner of stage s, 1<<s lanes apart, in each other's
// place.
func (m machine) exchange(s int, x arm64.Vec) arm64.Vec {
	v := m.Vec()
	if m.Size<<s == 4 {
		m.I("VREV64 V%r.S4, V%w.S4", x, v)
	} else {
		m.I("VEXT $8, V%r.B16, V%r.B16, V%w.B16", x, x, v)
	}
	return v
}

// signs returns, for each of the first n stages inside a vector, the vector that is −1 in the lanes
// of the differences and 1 in the others.
func (m machine) signs(n int) []arm64.Vec {
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

// inside runs the stages inside the vectors x. A lane and its partner change places, and the vector
// is added with the sign of the lane: x·(±1) + partner. A fused multiply-add rounds this sum as an
// addition or a subtraction does.
func (m machine) inside(x, signs []arm64.Vec) {
	for s, sign := range signs {
		for i := range x {
			partner := m.exchange(s, x[i])
			m.AddMul(x[i], sign, partner)
			x[i] = partner
		}
	}
}

// butterflies replaces v[i] and v[i+h], for the indices i in [lo, hi) without the bit h, by their
// sums and differences. done(i), if given, is called when v[i] is final.
func (m machine) butterflies(v []arm64.Vec, lo, hi, h int, done func(i int)) {
	for i := lo; i < hi; i++ {
		if i&h == 0 {
			v[i], v[i+h] = m.Add(v[i], v[i+h]), m.Sub(v[i], v[i+h])
			if done != nil {
				done(i)
				done(i + h)
			}
		}
	}
}

// kind says what a transform of adjacent blocks does besides.
type kind int

const (
	plain     kind = iota
	signed         // multiplies as it loads
	streaming      // prefetches
)

// together is the number of vectors whose stages inside them come together: shuffles of one half
// overlap additions of the other.
const together = 8

// base writes the transform of count adjacent blocks of 2^r vectors.
func (m machine) base(r int, kind kind) {
	const line = 64
	elements, size := m.Lanes()<<r, arm64.Width<<r
	var dst, src, factor, ahead arm64.GP
	switch kind {
	case signed:
		m.Begin(fmt.Sprintf("signed%d", r), "(dst, src, signs *T, count int)",
			fmt.Sprintf("writes the transform of count adjacent blocks of %d elements of src times signs into dst.", elements))
		dst, src, factor = m.Argument("dst"), m.Argument("src"), m.Argument("signs")
	case streaming:
		m.Begin(fmt.Sprintf("stream%d", r), "(p *T, count, ahead int)",
			fmt.Sprintf("transforms count adjacent blocks of %d elements in place and prefetches as many elements, ahead elements further on, into the second cache.", elements))
		dst, ahead = m.Argument("p"), m.Bytes("ahead")
		m.I("ADD R%r, R%m", dst, ahead)
		src = dst
	default:
		m.Begin(fmt.Sprintf("base%d", r), "(p *T, count int)",
			fmt.Sprintf("transforms count adjacent blocks of %d elements in place.", elements))
		dst = m.Argument("p")
		src = dst
	}
	count := m.Argument("count")
	signs := m.signs(m.log)

	m.Label("loop")
	if kind == streaming {
		for at := 0; at < size; at += line {
			m.I("PRFM %d(R%r), PLDL2KEEP", at, ahead)
		}
	}
	v := m.Vecs(1 << r)
	run := min(together, len(v))
	for lo := 0; lo < len(v); lo += run {
		part := v[lo : lo+run]
		m.LoadTo(part, src, lo*arm64.Width)
		if kind == signed {
			f := m.Vecs(run)
			m.LoadTo(f, factor, lo*arm64.Width)
			for i := range part {
				part[i] = m.Mul(part[i], f[i])
			}
		}
		m.inside(part, signs)
		for h := 1; h < run; h *= 2 {
			m.butterflies(v, lo, lo+run, h, nil)
		}
	}
	if run < len(v) {
		m.butterflies(v, 0, len(v), run, nil)
	}
	m.StoreAll(v, dst, 0)
	m.I("ADD $%d, R%m", size, dst)
	if kind == signed {
		m.I("ADD $%d, R%m", size, src)
		m.I("ADD $%d, R%m", size, factor)
	}
	if kind == streaming {
		m.I("ADD $%d, R%m", size, ahead)
	}
	m.Repeat("loop", count)
	m.End()
}

// lanes writes the first s stages of count vectors.
func (m machine) lanes(s int) {
	m.Begin(fmt.Sprintf("lanes%d", s), "(p *T, count int)",
		fmt.Sprintf("transforms adjacent blocks of %d elements, count vectors in all, in place.", 1<<s))
	p, count := m.Argument("p"), m.Argument("count")
	signs := m.signs(s)
	m.Label("loop")
	x := []arm64.Vec{m.Load(p, 0)}
	m.inside(x, signs)
	m.storeNext(x[0], p)
	m.Repeat("loop", count)
	m.End()
}

// storeNext writes a vector at p, which goes on to the next.
func (m machine) storeNext(v arm64.Vec, p arm64.GP) {
	m.I("FMOVQ.P F%r, %d(R%m)", v, arm64.Width, p)
}

// pass writes r stages, at the distances h, 2h, … 2^(r−1)·h, of count adjacent
// blocks of 2^r·h elements, in columns of one vector.
func (m machine) pass(r int) {
	m.Begin(fmt.Sprintf("pass%d", r), "(p *T, h, columns, count int)",
		fmt.Sprintf("runs the stages h … %dh on the first columns of count adjacent blocks of %dh elements, in place.", 1<<(r-1), 1<<r))
	block, stride := m.Argument("p"), m.Bytes("h")
	columns, count := m.Bytes("columns"), m.Argument("count")
	m.Label("block")
	rows, at := m.Pointers(m.CopyOf(block), stride, 1<<r), m.GP()
	m.I("MOVD $0, R%w", at)
	m.Label("column")
	v := make([]arm64.Vec, len(rows))
	for i := range v {
		v[i] = m.LoadAt(rows[i], at)
	}
	for h := 1; h < len(v); h *= 2 {
		var store func(i int)
		if 2*h == len(v) {
			store = func(i int) { m.StoreAt(v[i], rows[i], at) }
		}
		m.butterflies(v, 0, len(v), h, store)
	}
	m.I("ADD $%d, R%m", arm64.Width, at)
	m.I("CMP R%r, R%r", columns, at)
	m.I("BLT %j", "column")
	m.I("ADD R%r<<%d, R%m", stride, r, block)
	m.Repeat("block", count)
	m.End()
}

// times writes the product of two slices, count vectors.
func (m machine) times() {
	m.Begin("times", "(dst, x, f *T, count int)", "writes the products of count vectors of x and f into dst.")
	dst, x, f, count := m.Argument("dst"), m.Argument("x"), m.Argument("f"), m.Argument("count")
	m.Label("loop")
	m.storeNext(m.Mul(m.loadNext(x), m.loadNext(f)), dst)
	m.Repeat("loop", count)
	m.End()
}

// loadNext returns the vector at p, which goes on to the next.
func (m machine) loadNext(p arm64.GP) arm64.Vec {
	v := m.Vec()
	m.I("FMOVQ.P %d(R%m), F%w", arm64.Width, p, v)
	return v
}
