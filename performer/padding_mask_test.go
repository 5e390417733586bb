package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// paddedCall is a call of Attend on two sequences with padding at the left and a hole.
type paddedCall[T dense.Float] struct {
	performer.AttendArgs[T] // without a mask
	dout                    dense.Tensor[T]
	pads                    []int // of each sequence
	valid                   [][]bool
}

// newPaddedCall returns a call on n tokens, with NaN in the padding and the hole.
func newPaddedCall[T dense.Float](rng *rand.Rand, n, heads, keyHeads int, pads []int, hole bool) paddedCall[T] {
	const d, dv = 8, 5
	c := paddedCall[T]{pads: pads, AttendArgs: performer.AttendArgs[T]{
		Q: normalTensor[T](rng, len(pads), heads, n, d, true), K: normalTensor[T](rng, len(pads), keyHeads, n, d, true), V: normalTensor[T](rng, len(pads), keyHeads, n, dv, true),
	}, dout: normalTensor[T](rng, len(pads), heads, n, dv, true)}
	for b, pad := range pads {
		valid := make([]bool, n)
		for j := range valid {
			if valid[j] = j >= pad && !(hole && j == n-4); valid[j] {
				continue
			}
			for h := range heads {
				if j < pad {
					clear(c.dout.Row(b, h, j))
				}
				if h < keyHeads {
					fillNaN(c.K.Row(b, h, j))
					fillNaN(c.V.Row(b, h, j))
				}
			}
		}
		c.valid = append(c.valid, valid)
	}
	return c
}

func fillNaN[T dense.Float](x []T) {
	for i := range x {
		x[i] = T(math.NaN())
	}
}

// masked returns the call with its padding and hole as a mask of one kind.
func (c *paddedCall[T]) masked(kind string) performer.AttendArgs[T] {
	a, n, heads := c.AttendArgs, c.K.Rows, c.Q.Heads
	row := dense.NewTensor[bool](len(c.pads), 1, 1, n)
	for b, valid := range c.valid {
		copy(row.Row(b, 0, 0), valid)
	}
	biases := func(mask dense.Tensor[bool]) dense.Tensor[T] {
		bias := dense.NewTensor[T](mask.Batch, mask.Heads, mask.Rows, n)
		for i, seen := range mask.Data {
			if !seen {
				bias.Data[i] = T(math.Inf(-1))
			}
		}
		return bias
	}
	switch kind {
	case "keys":
		a.Mask = row
	case "keys of heads":
		a.Mask = written(row, row.Batch, heads, 1)
	case "pairs":
		a.Mask = written(row, row.Batch, 1, n)
	case "pairs of heads":
		a.Mask = written(row, row.Batch, heads, n)
	case "biases of keys":
		a.Bias = biases(row)
	case "biases":
		a.Bias = biases(written(row, row.Batch, heads, n))
	case "keys and biases":
		a.Mask, a.Bias = row, dense.NewTensor[T](1, 1, 1, n)
	}
	return a
}

// A mask of keys, or a mask or biases of pairs that hide keys at the left from every query, say the
// same as Sequences.Valid: these keys are padding, and places begin after them. A hidden key after
// the padding keeps its place. Outputs and gradients are also those of the sequences without
// padding.
func TestMaskOfPadding(t *testing.T) {
	densetest.Both(t, testMaskOfPadding[float32], testMaskOfPadding[float64])
}

func testMaskOfPadding[T dense.Float](t *testing.T) {
	const heads, keyHeads = 2, 1
	var none dense.Matrix[T]
	for number, o := range []performer.ExactOptions{
		{}, {Chunk: 7}, {Chunk: 64}, {Window: 3}, {Window: 3, Sinks: 2}, {Window: 40, Sinks: 5, SinkWeight: 2}, {Slope: 0.1}, {Window: 6, Sinks: 1, Slope: 0.2, Softcap: 4}, {Chunk: 9, Bits: 8}, {Window: 70, Sinks: 3, Bits: 8},
	} {
		for which := range 4 {
			hole := which > 1
			o.Causal = which%2 == 0
			e := must.Have(performer.NewExact[T](o))
			batch := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, e))
			n, pads := 24, []int{5, 11}
			if number%4 == 1 {
				n, pads = 270, []int{258, 60} // more than a tile
			}
			c := newPaddedCall[T](rand.New(rand.NewPCG(uint64(number), 1)), n, heads, keyHeads, pads, hole)
			rows := func(x dense.Tensor[T]) dense.Matrix[T] { return dense.Of(len(pads)*n, x.Heads*x.Cols, x.Data) }
			s := performer.Sequences{Queries: []int{n, n}, Valid: append(append([]bool{}, c.valid[0]...), c.valid[1]...)}
			want := batch.ForwardSequences(none, rows(c.Q), rows(c.K), rows(c.V), s)
			dq, dk, dvs := batch.BackwardSequences(none, none, none, rows(c.Q), rows(c.K), rows(c.V), rows(c.dout), s)
			tol := 100 * densetest.Roundoff[T]()
			// compare compares the rows of a sequence after its padding.
			compare := func(what string, b int, want, got dense.Matrix[T], tol float64) {
				t.Helper()
				for i := b*n + pads[b]; i < (b+1)*n; i++ {
					for j, x := range want.Row(i) {
						if !(abs(float64(x)-float64(got.Row(i)[j])) <= tol*(1+abs(float64(x)))) {
							require.InDelta(t, float64(x), float64(got.Row(i)[j]), tol, "%+v, hole %v, %s, sequence %d, row %d", o, hole, what, b, i-b*n)
						}
					}
				}
			}
			outputTol := tol
			if o.Bits == 8 {
				outputTol = 0.05
			}
			for k, kind := range []string{"keys", "keys of heads", "pairs", "pairs of heads", "biases of keys", "biases", "keys and biases"} {
				if (k+number)%2 != parity[T]() {
					continue // the other type has it
				}
				a := c.masked(kind)
				a.Scores = performer.ScoresAfterSoftmax
				r := must.Have(performer.Attend(e, a))
				a.Scores = performer.NoScores
				g := must.Have(performer.AttendBackward(e, a, c.dout))
				weighted := dense.NewTensor[T](len(pads), heads, n, c.V.Cols)
				for b := range pads {
					for h := range heads {
						dense.Copy(dense.Head(weighted, b, h), averaged(dense.Copy(dense.Matrix[float64]{}, dense.Head(r.Scores, b, h)), dense.Head(c.V, b, h/2)))
					}
				}
				for b := range pads {
					compare(kind, b, want, split(r.Out), outputTol)
					compare(kind+", dq", b, dq, split(g.Q), tol)
					compare(kind+", dk", b, dk, split(g.K), tol)
					compare(kind+", dv", b, dvs, split(g.V), tol)
					compare(kind+", weights", b, want, split(weighted), outputTol)
				}
			}
			for b, pad := range pads {
				if hole {
					continue
				}
				view := func(x dense.Matrix[T]) dense.Matrix[T] { return x.RowRange(b*n+pad, (b+1)*n) }
				padded := dense.New[T](len(pads)*n, want.Cols)
				batch.Forward(view(padded), view(rows(c.Q)), view(rows(c.K)), view(rows(c.V)))
				compare("without padding", b, padded, want, outputTol)
			}
		}
	}
}

// A decoder that gives the mask of its prompt and of later tokens goes on with the same tokens.
func TestMaskOfPaddingInAPast(t *testing.T) {
	densetest.Both(t, testMaskOfPaddingInAPast[float32], testMaskOfPaddingInAPast[float64])
}

func testMaskOfPaddingInAPast[T dense.Float](t *testing.T) {
	const n, past = 24, 21
	for _, o := range []performer.ExactOptions{{Chunk: 7}, {Window: 3, Sinks: 2}, {Slope: 0.1}} {
		o.Causal = true
		e := must.Have(performer.NewExact[T](o))
		c := newPaddedCall[T](rand.New(rand.NewPCG(1, 2)), n, 2, 1, []int{5, 11}, false)
		want := must.Have(performer.Attend(e, c.masked("keys"))).Out
		for _, kind := range []string{"keys", "keys of heads", "pairs", "biases"} {
			all := c.masked(kind)
			a := all
			a.Q, a.K, a.V = rowsBetween(all.Q, past, n), rowsBetween(all.K, past, n), rowsBetween(all.V, past, n)
			a.PastK, a.PastV = rowsBetween(all.K, 0, past), rowsBetween(all.V, 0, past)
			switch kind {
			case "pairs":
				a.Mask = rowsOfMask(a.Mask, past, n)
			case "biases":
				a.Bias = rowsBetween(a.Bias, past, n)
			}
			got := must.Have(performer.Attend(e, a)).Out
			closeTo(t, wideTensor(rowsBetween(want, past, n)), got, 100*densetest.Roundoff[T](), "%+v, %s", o, kind)
		}
	}
}

// rowsOfMask returns rows from ≤ i < to of every head.
func rowsOfMask(m dense.Tensor[bool], from, to int) dense.Tensor[bool] {
	r := dense.NewTensor[bool](m.Batch, m.Heads, to-from, m.Cols)
	for b := range m.Batch {
		for h := range m.Heads {
			for i := range r.Rows {
				copy(r.Row(b, h, i), m.Row(b, h, from+i))
			}
		}
	}
	return r
}

// split returns the rows of a tensor (B, L, H·d) in memory, or of a copy of it.
func split[T dense.Float](x dense.Tensor[T]) dense.Matrix[T] {
	m := dense.New[T](x.Batch*x.Rows, x.Heads*x.Cols)
	for b := range x.Batch {
		for h := range x.Heads {
			for i := range x.Rows {
				copy(m.Row(b*x.Rows + i)[h*x.Cols:], x.Row(b, h, i))
			}
		}
	}
	return m
}
