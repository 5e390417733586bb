package fwht

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
)

// inside runs the stages inside the vectors x, some of them in step. A lane and its partner change
// places, and the vector is added with the sign of the lane: x·(±1) + partner. A fused multiply-add
// rounds this sum as an addition or a subtraction does.
func (m machine) inside(x []Op, signs []Op) {
	for s, sign := range signs {
		for step := range slices.Chunk(x, m.inStep) {
			partners := make([]Op, len(step))
			for i := range step {
				partners[i] = m.Vec()
				m.exchange(s, step[i], partners[i])
			}
			for i := range step {
				m.Plus(sign, step[i], partners[i])
			}
			copy(step, partners)
		}
	}
}

// butterflies replaces v[i] and v[i+h], for the indices i in [lo, hi) without the
// bit h, by their sums and differences. done(i), if given, is called when v[i] is
// final.
//
// A difference is a fused multiply-add a − 1·b except in the first stage. Fused multiply-adds and
// additions issue on different ports, but stores get in the way of both. This share of fused
// operations, in runs of one kind, is the fastest on the machines measured.
func (m machine) butterflies(v []Op, lo, hi, h int, one Op, done func(i int)) {
	var indices []int
	for i := lo; i < hi; i++ {
		if i&h == 0 {
			indices = append(indices, i)
		}
	}
	for group := range slices.Chunk(indices, m.group) {
		sums := make([]Op, len(group))
		for k, i := range group {
			sums[k] = m.Vec()
			m.Add(v[i+h], v[i], sums[k])
		}
		for k, i := range group {
			if h > 1 {
				m.TimesFrom(v[i], one, v[i+h])
			} else {
				difference := m.Vec()
				m.Sub(v[i+h], v[i], difference)
				v[i+h] = difference
			}
			v[i] = sums[k]
		}
		if done != nil {
			for _, i := range group {
				done(i)
				done(i + h)
			}
		}
	}
}

// signs loads the first n sign vectors.
func (m machine) signs(n int) []Op {
	ops := make([]Op, n)
	for s := range ops {
		ops[s] = m.Vec()
		m.Move(amd64.Static(m.label(s)), ops[s])
	}
	return ops
}

// one loads 1 into every lane.
func (m machine) one() Op {
	x := m.Vec()
	m.Fill(amd64.Static(m.label(0)), x)
	return x
}

// kind says what a transform of adjacent blocks does besides.
type kind int

const (
	plain     kind = iota
	signed         // multiplies as it loads
	streaming      // prefetches
)

// line is the size of a line of the caches in bytes.
const line = 64

// base writes the transform of count adjacent blocks of 2^r vectors. Stages
// inside vectors are interleaved with those across them, left half before right,
// so that shuffles of one half overlap additions of the other.
func (m machine) base(r int, kind kind) {
	elements, size := m.Lanes()<<r, m.Width()<<r
	var dst, src, factor, ahead Register
	switch kind {
	case signed:
		m.Begin(fmt.Sprintf("signed%d", r), "(dst, src, signs *T, count int)",
			fmt.Sprintf("writes the transform of count adjacent blocks of %d elements of src times signs into dst.", elements))
		dst, src, factor = amd64.Argument("dst"), amd64.Argument("src"), amd64.Argument("signs")
	case streaming:
		m.Begin(fmt.Sprintf("stream%d", r), "(p *T, count, ahead int)",
			fmt.Sprintf("transforms count adjacent blocks of %d elements in place and prefetches as many elements, ahead elements further on, into the second cache.", elements))
		dst, ahead = amd64.Argument("p"), amd64.Argument("ahead")
		SHLQ(U8(m.Shift()), ahead)
		src = dst
	default:
		m.Begin(fmt.Sprintf("base%d", r), "(p *T, count int)",
			fmt.Sprintf("transforms count adjacent blocks of %d elements in place.", elements))
		dst = amd64.Argument("p")
		src = dst
	}
	count := amd64.Argument("count")
	signs := m.signs(m.Log)
	one := m.one()

	Label("loop")
	v := make([]Op, 1<<r)
	var run func(lo, n int)
	run = func(lo, n int) {
		if n > m.together {
			run(lo, n/2)
			run(lo+n/2, n/2)
			m.stage(v, lo, n, n/2, one, dst)
			return
		}
		for i := lo; i < lo+n; i++ {
			v[i] = m.Vec()
			m.Move(Mem{Base: src, Disp: i * m.Width()}, v[i])
			if kind == streaming && i*m.Width()%line == 0 {
				PREFETCHT1(Mem{Base: src, Index: ahead, Scale: 1, Disp: i * m.Width()})
			}
			if kind == signed {
				m.Mul(Mem{Base: factor, Disp: i * m.Width()}, v[i], v[i])
			}
		}
		m.inside(v[lo:lo+n], signs)
		for h := 1; h < n; h *= 2 {
			m.stage(v, lo, n, h, one, dst)
		}
	}
	run(0, 1<<r)
	if r == 0 {
		m.Move(v[0], Mem{Base: dst})
	}
	ADDQ(I32(size), dst)
	if kind == signed {
		ADDQ(I32(size), src)
		ADDQ(I32(size), factor)
	}
	amd64.Repeat("loop", count)
	amd64.End()
}

// stage runs stage h among the n vectors from v[lo] on, and stores what is final:
// everything, after the last stage of all.
func (m machine) stage(v []Op, lo, n, h int, one Op, dst Register) {
	if 2*h < len(v) {
		m.butterflies(v, lo, lo+n, h, one, nil)
		return
	}
	m.butterflies(v, lo, lo+n, h, one, func(i int) { m.Move(v[i], Mem{Base: dst, Disp: i * m.Width()}) })
}

// lanes writes the first s stages of count vectors.
func (m machine) lanes(s int) {
	m.Begin(fmt.Sprintf("lanes%d", s), "(p *T, count int)",
		fmt.Sprintf("transforms adjacent blocks of %d elements, count vectors in all, in place.", 1<<s))
	p, count := amd64.Argument("p"), amd64.Argument("count")
	signs := m.signs(s)
	Label("loop")
	x := []Op{m.Vec()}
	m.Move(Mem{Base: p}, x[0])
	m.inside(x, signs)
	m.Move(x[0], Mem{Base: p})
	ADDQ(I32(m.Width()), p)
	amd64.Repeat("loop", count)
	amd64.End()
}

// pass writes r stages, at the distances h, 2h, … 2^(r−1)·h, of count adjacent
// blocks of 2^r·h elements, in columns of one vector.
func (m machine) pass(r int) {
	m.Begin(fmt.Sprintf("pass%d", r), "(p *T, h, columns, count int)",
		fmt.Sprintf("runs the stages h … %dh on the first columns of count adjacent blocks of %dh elements, in place.", 1<<(r-1), 1<<r))
	block, stride := amd64.Argument("p"), amd64.Argument("h")
	columns, count := amd64.Argument("columns"), amd64.Argument("count")
	SHLQ(U8(m.Shift()), stride)
	SHLQ(U8(m.Shift()), columns)
	one := m.one()
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	quad := GP64()
	MOVQ(stride, quad)
	SHLQ(U8(2), quad)

	Label("block")
	left := GP64()
	MOVQ(columns, left)
	rows := []Register{GP64()}
	MOVQ(block, rows[0])
	for i := 4; i < 1<<r; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: rows[len(rows)-1], Index: quad, Scale: 1}, next)
		rows = append(rows, next)
	}
	at := func(i int) Mem {
		switch base := rows[i/4]; i % 4 {
		case 0:
			return Mem{Base: base}
		case 3:
			return Mem{Base: base, Index: triple, Scale: 1}
		default:
			return Mem{Base: base, Index: stride, Scale: uint8(i % 4)}
		}
	}

	Label("column")
	v := make([]Op, 1<<r)
	for i := range v {
		v[i] = m.Vec()
		m.Move(at(i), v[i])
	}
	for h := 1; h < len(v); h *= 2 {
		var store func(i int)
		if 2*h == len(v) {
			store = func(i int) { m.Move(v[i], at(i)) }
		}
		m.butterflies(v, 0, len(v), h, one, store)
	}
	for _, row := range rows {
		ADDQ(I32(m.Width()), row)
	}
	SUBQ(I32(m.Width()), left)
	JNZ(LabelRef("column"))
	for range 1 << r {
		ADDQ(stride, block)
	}
	amd64.Repeat("block", count)
	amd64.End()
}

// times writes the product of two slices, count vectors.
func (m machine) times() {
	m.Begin("times", "(dst, x, f *T, count int)", "writes the products of count vectors of x and f into dst.")
	dst, x, f, count := amd64.Argument("dst"), amd64.Argument("x"), amd64.Argument("f"), amd64.Argument("count")
	Label("loop")
	v := m.Vec()
	m.Move(Mem{Base: x}, v)
	m.Mul(Mem{Base: f}, v, v)
	m.Move(v, Mem{Base: dst})
	for _, p := range []Register{dst, x, f} {
		ADDQ(I32(m.Width()), p)
	}
	amd64.Repeat("loop", count)
	amd64.End()
}
