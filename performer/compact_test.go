package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// compactForms are forms of exact attention that have each pair of options.
func compactForms[T dense.Float]() []performer.Exact[T] {
	var all []performer.Exact[T]
	for _, e := range []performer.ExactOptions{{}, {Window: 1}, {Window: 1, Sinks: 1}, {Window: 2, Sinks: 2}, {Chunk: 2}} {
		for _, causal := range []bool{false, true} {
			for _, o := range []performer.ExactOptions{
				{}, {Slope: 0.3, Softcap: 1.5, Bits: 8}, {Softmax: performer.Softmax{Scale: 0.7}, Softcap: 1.5}, {Softmax: performer.Softmax{Scale: 0.7}, Slope: 0.3}, {Bits: 8},
			} {
				o.Causal, o.Window, o.Sinks, o.Chunk = causal, e.Window, e.Sinks, e.Chunk
				all = append(all, must.Have(performer.NewExact[T](o)))
			}
		}
	}
	return all
}

// compactHoles are keys that do not count, of six.
var compactHoles = [][]int{nil, {0, 1}, {4, 5}, {2, 4}, {0, 3, 5}, {0, 1, 2, 3, 4, 5}}

// written returns the tensor with its sides of 1 written out.
func written[E dense.Element](t dense.Tensor[E], batch, heads, rows int) dense.Tensor[E] {
	w := dense.NewTensor[E](batch, heads, rows, t.Cols)
	for b := range batch {
		for h := range heads {
			for i := range rows {
				copy(w.Row(b, h, i), t.Row(min(b, t.Batch-1), min(h, t.Heads-1), min(i, t.Rows-1)))
			}
		}
	}
	return w
}

// A mask of keys that is broadcast over queries, heads or sequences is the mask that it stands for,
// written out or as biases, with every pair of options. The truth is a loop over pairs in float64,
// in which masked keys at the left are padding, and others keep their places.
func TestMasksWrittenOut(t *testing.T) {
	densetest.Both(t, testMasksWrittenOut[float32], testMasksWrittenOut[float64])
}

func testMasksWrittenOut[T dense.Float](t *testing.T) {
	const batch, heads, n, d, dv = 2, 2, 6, 3, 2
	shapes := [][2]int{{1, 1}, {batch, 1}, {1, heads}, {batch, heads}}
	for at, holes := range compactHoles {
		for i, place := range []string{"all queries", "past", "lengths", "few queries", "few queries, lengths"} {
			for l, e := range compactForms[T]() {
				if (at+i+l)%2 != parity[T]() {
					continue // the other type has it
				}
				rng := rand.New(rand.NewPCG(uint64(at), uint64(l)))
				rows, past := n, 0
				switch place {
				case "past":
					rows, past = 3, 3
				case "few queries", "few queries, lengths":
					rows = 4
				}
				k, v := normalTensor[T](rng, batch, 1, n, d, true), normalTensor[T](rng, batch, 1, n, dv, true)
				c := performer.AttendArgs[T]{Q: normalTensor[T](rng, batch, heads, rows, d, false), K: k, V: v}
				if place == "lengths" || place == "few queries, lengths" {
					c.Lengths = []int{5, 3}
				}
				dout := normalTensor[T](rng, batch, heads, rows, dv, false)
				shape := shapes[(at+l)%len(shapes)]
				row, rowBias := dense.NewTensor[bool](shape[0], shape[1], 1, n), dense.NewTensor[T](shape[0], shape[1], 1, n)
				for i := range row.Data {
					// Sequences and heads have masks of their own.
					if row.Data[i] = !slices.Contains(holes, (i+i/n)%n); !row.Data[i] {
						rowBias.Data[i] = T(math.Inf(-1))
					}
				}
				mask, bias := written(row, batch, heads, rows), written(rowBias, batch, heads, rows)
				c.Mask = mask
				want := naive(e.Options(), c, wideTensor(dout), past)
				if past > 0 {
					c.K, c.PastK = rowsBetween(k, past, n), rowsBetween(k, 0, past)
					c.V, c.PastV = rowsBetween(v, past, n), rowsBetween(v, 0, past)
				}
				for form, m := range map[string]performer.AttendArgs[T]{
					"a row": {Mask: row}, "written out": {Mask: mask}, "a row of biases": {Bias: rowBias},
					"biases": {Bias: bias, LearnBias: true}, "a row and biases": {Mask: row, Bias: dense.NewTensor[T](1, 1, 1, n)},
				} {
					name := fmt.Sprintf("%s, %s, without %v, %+v", form, place, holes, e)
					c.Mask, c.Bias, c.LearnBias, c.Scores = m.Mask, m.Bias, m.LearnBias, performer.ScoresAfterSoftmax
					r := must.Have(performer.Attend[T](e, c))
					c.Scores = performer.NoScores
					g := must.Have(performer.AttendBackward[T](e, c, dout))
					tol := 20 * tolerance[T]()
					requireNear(t, "weights, "+name, want.weights, r.Scores, tol)
					requireNear(t, "dq, "+name, want.dq, g.Q, tol)
					requireNear(t, "dk, "+name, want.dk, g.K, tol)
					requireNear(t, "dv, "+name, want.dv, g.V, tol)
					if c.LearnBias {
						requireNear(t, "dbias, "+name, want.dbias, g.Bias, tol)
					}
					if e.Options().Bits == 8 {
						tol = 0.08
					}
					requireNear(t, "outputs, "+name, want.out, r.Out, tol)
				}
			}
		}
	}
}

// Sequences of a Batch are those of the loop over pairs one by one, where places count from the
// first key that counts, and whatever the past of a sequence is.
func TestSequencesWrittenOut(t *testing.T) {
	densetest.Both(t, testSequencesWrittenOut[float32], testSequencesWrittenOut[float64])
}

func testSequencesWrittenOut[T dense.Float](t *testing.T) {
	const heads, n, rows, d, dv = 2, 6, 4, 3, 2
	var none dense.Matrix[T]
	pasts := []int{0, 2, -2, 7, 100, -100}
	for l, e := range compactForms[T]() {
		b := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: 1}, e))
		rng := rand.New(rand.NewPCG(7, uint64(l)))
		q, k, v := densetest.Normal[T](rng, rows*len(pasts), heads*d, 0, 1), densetest.Normal[T](rng, n*len(pasts), d, 0, 1), densetest.Normal[T](rng, n*len(pasts), dv, 0, 1)
		dout := densetest.Normal[T](rng, q.Rows, heads*dv, 0, 1)
		for _, holes := range compactHoles {
			s := performer.Sequences{Past: pasts, Valid: make([]bool, k.Rows)}
			for j := range s.Valid {
				s.Valid[j] = !slices.Contains(holes, j%n)
			}
			for range pasts {
				s.Queries, s.Keys = append(s.Queries, rows), append(s.Keys, n)
			}
			out := b.ForwardSequences(none, q, k, v, s)
			dq, dk, dvs := b.BackwardSequences(none, none, none, q, k, v, dout, s)
			for i, past := range pasts {
				part := func(m dense.Matrix[T], rows, heads int) dense.Tensor[T] {
					return dense.SplitHeads(m.RowRange(i*rows, (i+1)*rows), 1, heads)
				}
				c := performer.AttendArgs[T]{Q: part(q, rows, heads), K: part(k, n, 1), V: part(v, n, 1), Mask: dense.TensorOf(1, 1, 1, n, s.Valid[i*n:(i+1)*n])}
				want := naive(e.Options(), c, wideTensor(part(dout, rows, heads)), past)
				name, tol := fmt.Sprintf("past %d, without %v, %+v", past, holes, e), 20*tolerance[T]()
				requireNear(t, "dq, "+name, want.dq, part(dq, rows, heads), tol)
				requireNear(t, "dk, "+name, want.dk, part(dk, n, 1), tol)
				requireNear(t, "dv, "+name, want.dv, part(dvs, n, 1), tol)
				if e.Options().Bits == 8 {
					tol = 0.08
				}
				requireNear(t, "outputs, "+name, want.out, part(out, rows, heads), tol)
			}
		}
	}
}
