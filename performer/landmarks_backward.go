package performer

import (
	"errors"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Backward writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×d), k (Lk×d) and v
// (Lk×dv) into dq, dk and dv, and returns them; zero ones are allocated. out is the result of
// Forward. Landmarks are those of Forward and count as constants: with C = G⁻¹, D_i the denominator
// of row i, and the rows g_i of dout,
//
//	∂L/∂φ(q_i) = C·Σ_j φ(k_j)·(v_j·g_i − δ_i)/D_i,  δ_i = g_i·out_i
//	∂L/∂φ(k_j) = C·R·[v_j, 1],  R = Σ_i φ(q_i)/D_i·[g_i, −δ_i]ᵀ
//	∂L/∂v_j    = Rᵀ·C·φ(k_j), but for its last element
//
// as for [Linear], and without D_i and δ_i when unnormalised. For a key that is a landmark the
// gradient is that of a key with its value. A row that Forward answers with positive weights counts
// as a constant: its gradients are zero.
//
// The cost is about three times that of Forward, and the memory beyond the gradients does not
// depend on the lengths. Bits do not depend on GOMAXPROCS. With at most r keys the gradients are
// those of [Exact].
//
// dq, dk and dv must not overlap each other or an input. Backward panics with the shapes if they do
// not fit.
func (l *Landmarks[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return l.made().Backward(dq, dk, dv, q, k, v, dout)
}

func (l *landmarks[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	if err := l.CanBackward(); err != nil {
		panic(err.Error())
	}
	l.check(q, k, v)
	g := newGradients(dq, dk, dv, q, k, v, dout)
	if !g.Empty() {
		l.backward(&g)
	}
	return g.DQ, g.DK, g.DV
}

// CanBackward returns nil for bidirectional attention, and an error for causal attention, which has
// no gradients.
func (l *Landmarks[T]) CanBackward() error { return l.made().CanBackward() }

func (l *landmarks[T]) CanBackward() error {
	if l.exact.Causal {
		return errors.New("performer: causal Landmarks have no derivatives")
	}
	return nil
}

func (l *landmarks[T]) attendBackward(p gradientRequest[T]) {
	s := pool.Get[selection[T]](&selections)
	queries, keys, _ := s.selected(p, false)
	if g := s.take(p, queries, keys); !g.Empty() {
		l.backward(g)
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}

// backward writes the gradients, which are not empty.
func (l *landmarks[T]) backward(g *sums.Gradients[T]) {
	if l.isExact(g.K.Rows) {
		tiles.Backward(backwardOf(l.exact, *g, maskOf(l.exact, 0, nil)))
		return
	}
	if l.inDouble(g.K.Cols) {
		l.backwardDouble(g)
		return
	}
	engine, chosen := l.engineFor(g.K)
	engine.Backward(g)
	l.release(chosen)
}
