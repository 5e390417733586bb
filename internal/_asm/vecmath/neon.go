package vecmath

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/_asm/kernel"
)

type neon struct{ arm64.Machine }

// WriteARM64 writes the kernels of arm64.
func WriteARM64(f *arm64.File) {
	for _, m := range arm64.Machines(f) {
		write[arm64.Vec, arm64.GP](neon{m})
	}
}

func (m neon) register(v float64) arm64.Vec       { return m.Value(v) }
func (m neon) inRegister(v arm64.Vec) arm64.Vec   { return v }
func (m neon) fused(a, b, c arm64.Vec) arm64.Vec  { return m.AddMul(a, b, c) }
func (m neon) kept(c arm64.Vec) arm64.Vec         { return m.Move(c) }
func (m neon) sqrt(v, into arm64.Vec)             { m.Sqrt(v, into) }
func (m neon) scale() kernel.Operation[arm64.Vec] { return nil }
func (m neon) equal(a, b arm64.Vec) arm64.Vec     { return m.Equal(a, b) }
func (m neon) atLeast(a, b arm64.Vec) arm64.Vec   { return m.AtLeast(a, b) }
func (m neon) greater(a, b arm64.Vec) arm64.Vec   { return m.Greater(a, b) }
func (m neon) below(a, b arm64.Vec) arm64.Vec     { return m.Greater(b, a) }
func (m neon) both(a, b arm64.Vec) arm64.Vec      { return m.And(a, b, b) }
func (m neon) signs(v arm64.Vec) arm64.Vec        { return m.RightSigned(v, 8*m.Size-1) }
func (m neon) choose(mask, from, into arm64.Vec)  { m.Choose(into, mask, from) }

// polynomial loads coefficients into the sums: loads take the place of moves.
func (m neon) polynomial(c []float64, _ bool) func(x []arm64.Vec) []arm64.Vec {
	return func(x []arm64.Vec) []arm64.Vec {
		top := len(c) - 1
		p := slices.Repeat([]arm64.Vec{m.Value(c[top])}, len(x))
		for j := top - 1; j >= 0; j-- {
			for i := range p {
				p[i] = m.AddMul(p[i], x[i], m.Value(c[j]))
			}
		}
		return p
	}
}

func (m neon) abs(limit float64) func(x, into []arm64.Vec) {
	limits := m.Value(limit)
	return func(x, into []arm64.Vec) {
		for i, v := range x {
			m.Abs(v, into[i])
		}
		largest := into[0]
		for _, v := range into[1:] {
			largest = m.Max(largest, v)
		}
		m.I("CBZ R%r, %j", m.Least(m.Greater(limits, largest)), "stop")
	}
}

func (m neon) end(n, left arm64.GP) {
	m.Label("stop")
	m.I("SUB R%r, R%m", left, n)
	m.Answer(n)
	m.End()
}

// neonBlock is a block of k vectors, or one element in every lane of a vector.
type neonBlock struct {
	neon
	k      int
	single bool
	used   *[]arm64.GP // addresses of the slices, which the loop advances
	rows   *[]arm64.GP // addresses that the loop does not advance
}

func (b neonBlock) uses(p arm64.GP) {
	if !slices.Contains(*b.rows, p) && !slices.Contains(*b.used, p) {
		*b.used = append(*b.used, p)
	}
}

func (b neonBlock) load(p arm64.GP) []arm64.Vec {
	b.uses(p)
	if b.single {
		return []arm64.Vec{b.Broadcast(p)}
	}
	v := b.Vecs(b.k)
	b.LoadTo(v, p, 0)
	return v
}

func (b neonBlock) loadOr(p arm64.GP, _ arm64.Vec) []arm64.Vec { return b.load(p) }

func (b neonBlock) store(v []arm64.Vec, p arm64.GP) {
	b.uses(p)
	if b.single {
		b.StoreElement(v[0], p, 0)
	} else {
		b.StoreAll(v, p, 0)
	}
}

func (b neonBlock) row(p arm64.GP) arm64.GP {
	b.uses(p)
	row := b.CopyOf(p)
	*b.rows = append(*b.rows, row)
	return row
}

func (m neon) hasShorter() bool { return false }

func (m neon) unroll(k int) int { return k }

// loop returns how many elements are left. A jump out of body leaves the elements of its block.
func (m neon) loop(label string, n arm64.GP, k int, body func(b position[arm64.Vec, arm64.GP])) (left arm64.GP) {
	left = m.CopyOf(n)
	round := func(b neonBlock, elements int) {
		start, end := fmt.Sprintf("%s%d", label, elements), fmt.Sprintf("%s%dEnd", label, elements)
		b.used, b.rows = new([]arm64.GP), new([]arm64.GP)
		m.I("CMP $%d, R%r", elements, left)
		m.I("BLT %j", end)
		m.Label(start)
		body(b)
		for _, p := range *b.used {
			m.Advance(p, elements*m.Size)
		}
		m.I("SUB $%d, R%m", elements, left)
		m.I("CMP $%d, R%r", elements, left)
		m.I("BGE %j", start)
		m.Label(end)
	}
	if k > 1 {
		round(neonBlock{neon: m, k: k}, k*m.Lanes())
	}
	round(neonBlock{neon: m, k: 1}, m.Lanes())
	round(neonBlock{neon: m, k: 1, single: true}, 1)
	return left
}

func (m neon) again(p arm64.GP) arm64.GP { return m.CopyOf(p) }

func (m neon) weighted(columns position[arm64.Vec, arm64.GP], x arm64.GP, rows *walk[arm64.GP], slices []arm64.GP, body func(row arm64.GP, weight func(slice arm64.GP) arm64.Vec)) {
	next := map[arm64.GP]arm64.GP{}
	for _, p := range slices {
		next[p] = m.CopyOf(p)
	}
	writer[arm64.Vec, arm64.GP]{m}.each(columns, x, rows, func(row arm64.GP) {
		body(row, func(slice arm64.GP) arm64.Vec { return m.BroadcastNext(next[slice]) })
	})
}
