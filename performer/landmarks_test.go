package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// byLandmarks returns Forward of a Landmarks at any point, with landmarks chosen among k.
type byLandmarks struct {
	scale, condition float64
	z                dense.Matrix[float64]
	inverse          mat.Dense // G⁻¹
	plain            bool
}

func newByLandmarks[T dense.Float](l performer.Landmarks[T], k dense.Matrix[T]) *byLandmarks {
	chosen, scale := performer.ChoiceFor(l, k)
	n := len(chosen)
	b := &byLandmarks{scale: scale, z: dense.New[float64](n, k.Cols), plain: l.Describe().Unnormalised}
	for i, key := range chosen {
		dense.Copy(b.z.RowRange(i, i+1), k.RowRange(key, key+1))
	}
	g := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			g.Set(i, j, math.Exp(-b.scale/2*math.Pow(floats.Distance(b.z.Row(i), b.z.Row(j), 2), 2)))
		}
	}
	b.condition = mat.Cond(g, 2)
	if err := b.inverse.Inverse(g); err != nil {
		panic(err)
	}
	return b
}

// features returns φ of x, times exp(−shift).
func (b *byLandmarks) features(x []float64, shift float64) *mat.VecDense {
	phi := mat.NewVecDense(b.z.Rows, nil)
	for i := range b.z.Rows {
		z := b.z.Row(i)
		phi.SetVec(i, math.Exp(b.scale*(floats.Dot(z, x)-floats.Dot(z, z)/2)-shift))
	}
	return phi
}

// forward returns the outputs, and the largest sum of absolute terms over a denominator.
func (b *byLandmarks) forward(q, k, v dense.Matrix[float64]) (out dense.Matrix[float64], terms float64) {
	out = dense.New[float64](q.Rows, v.Cols)
	weights := make([]mat.VecDense, k.Rows)
	for j := range weights {
		weights[j].MulVec(&b.inverse, b.features(k.Row(j), 0))
	}
	for i := range q.Rows {
		phi, total, size, sums := b.features(q.Row(i), 0), 0.0, 0.0, out.Row(i)
		for j := range weights {
			w := mat.Dot(phi, &weights[j])
			total += w
			size += math.Abs(w) * (1 + floats.Norm(v.Row(j), math.Inf(1)))
			floats.AddScaled(sums, w, v.Row(j))
		}
		if !b.plain {
			floats.Scale(1/total, sums)
			size /= math.Abs(total)
		}
		terms = max(terms, size)
	}
	return out, terms
}

func wide[T dense.Float](m dense.Matrix[T]) dense.Matrix[float64] {
	return dense.Copy(dense.Matrix[float64]{}, m)
}

// frobeniusError returns ‖a − b‖/‖b‖ in Frobenius norms.
func frobeniusError[T dense.Float](a dense.Matrix[T], b dense.Matrix[float64]) float64 {
	diff, size := 0.0, 0.0
	for i := range b.Rows {
		for j, y := range b.Row(i) {
			x := float64(a.Row(i)[j])
			diff += (x - y) * (x - y)
			size += y * y
		}
	}
	return math.Sqrt(diff / size)
}

// Outputs are those of the formula with G⁻¹, to the rounding that the condition of G magnifies. The
// formula without the landmarks that are keys, or with another scale, is far off.
func testLandmarksFormula[T dense.Float](t *testing.T) {
	for _, plain := range []bool{false, true} {
		for _, d := range []int{1, 3, 20} {
			const r, n = 12, 70
			l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: plain}, densetest.Source(uint64(d))))
			q, k, v := densetest.Decaying[T](1, 50, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, 5, 1)
			b := newByLandmarks(l, k)
			want, terms := b.forward(wide(q), wide(k), wide(v))
			got := wide(l.Forward(dense.Matrix[T]{}, q, k, v))
			tolerance := 8 * float64(n+r+d) * densetest.Roundoff[T]() * math.Sqrt(b.condition) * terms
			require.Less(t, tolerance, 0.02*terms, "d = %d, condition %g", d, b.condition)
			worst := floats.Distance(got.Data, want.Data, math.Inf(1))
			require.LessOrEqual(t, worst, tolerance, "d = %d, unnormalised %v, condition %g", d, plain, b.condition)
			b.scale *= 1.5
			wrong, _ := b.forward(wide(q), wide(k), wide(v))
			require.Greater(t, floats.Distance(got.Data, wrong.Data, math.Inf(1)), tolerance)
		}
	}
}

func TestLandmarksFormula(t *testing.T) {
	densetest.Both(t, testLandmarksFormula[float32], testLandmarksFormula[float64])
}

// With as many landmarks as keys attention is exact, to the bit; with as many as there are
// different keys, to rounding.
func testLandmarksOfAllKeys[T dense.Float](t *testing.T) {
	const d, dv = 8, 5
	for _, n := range []int{0, 1, 2, 40} {
		for _, plain := range []bool{false, true} {
			exact := must.Have(performer.NewExact[T](performer.ExactOptions{Scale: 0.7, Unnormalised: plain}))
			q, k, v := densetest.Decaying[T](1, 30, d, 4), densetest.Decaying[T](2, n, d, 4), densetest.Decaying[T](3, n, dv, 1)
			want := exact.Forward(dense.Matrix[T]{}, q, k, v)
			got := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: max(n, 1), Scale: exact.Options().Scale, Unnormalised: exact.Options().Unnormalised}, densetest.Source(1))).Forward(dense.Matrix[T]{}, q, k, v)
			require.True(t, densetest.Identical(want, got))

			repeated, values := dense.New[T](7*n, d), densetest.Decaying[T](4, 7*n, dv, 1)
			for j := range repeated.Rows {
				copy(repeated.Row(j), k.Row(j%n))
			}
			want = exact.Forward(want, q, repeated, values)
			got = must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: n + 5, Scale: exact.Options().Scale, Unnormalised: exact.Options().Unnormalised}, densetest.Source(1))).Forward(dense.Matrix[T]{}, q, repeated, values)
			if n > 0 {
				assert.Less(t, frobeniusError(got, wide(want)), 160*densetest.Roundoff[T](), "%d keys, seven times, unnormalised %v", n, plain)
			}
		}
	}
}

func TestLandmarksOfAllKeys(t *testing.T) {
	densetest.Both(t, testLandmarksOfAllKeys[float32], testLandmarksOfAllKeys[float64])
}

// Keys with a decaying spectrum: the error is less than a fourth of that of as many orthogonal
// random features, for every seed, whatever the norms are. Uniform landmarks among keys of
// different norms are worse, and so are random features.
func testLandmarkErrors[T dense.Float](t *testing.T) {
	const d, n, r = 32, 600, 128
	for _, variance := range []float64{1, 4, 8} {
		q, k, v := densetest.Decaying[T](1, n, d, variance), densetest.Decaying[T](2, n, d, variance), densetest.Decaying[T](3, n, d, 1)
		exact := wide(must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, q, k, v))
		for seed := range uint64(4) {
			l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r}, densetest.Source(seed)))
			random := attention(must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1 / math.Sqrt(d)}, maptest.Frequencies[T](r, d))), performer.LinearOptions{})
			got, other := frobeniusError(l.Forward(dense.Matrix[T]{}, q, k, v), exact), frobeniusError(random.Forward(dense.Matrix[T]{}, q, k, v), exact)
			assert.Less(t, 4*got, other, "variance %g, seed %d", variance, seed)
		}
	}
}

func TestLandmarkErrors(t *testing.T) {
	densetest.Both(t, testLandmarkErrors[float32], testLandmarkErrors[float64])
}

// One key in a hundred is long and has nearly all of the weight. Landmarks find these keys, also
// where the choice is among some of the keys only.
func TestLandmarksFindLongKeys(t *testing.T) {
	const d, r = 16, 128
	for _, n := range []int{900, 6000} {
		q, k, v := densetest.Decaying[float64](1, 200, d, 3), densetest.Decaying[float64](2, n, d, 3), densetest.Decaying[float64](3, n, 4, 1)
		for j := 7; j < n; j += 100 {
			for i := range k.Row(j) {
				k.Row(j)[i] *= 4
			}
		}
		exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
		want := exact.Forward(dense.Matrix[float64]{}, q, k, v)
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: r, Scale: exact.Options().Scale, Unnormalised: exact.Options().Unnormalised}, densetest.Source(1)))
		assert.Less(t, frobeniusError(l.Forward(dense.Matrix[float64]{}, q, k, v), want), 0.06, "%d keys", n)
	}
}

// Queries are keys, of any norm: outputs are averages, exactly 1 for values of 1, and near the
// value of the key itself where norms are large and all landmarks are keys.
func testLandmarkNorms[T dense.Float](t *testing.T) {
	const d, n, r = 64, 400, 64
	for _, norm := range []float64{0, 1e-3, 1, 5, 30, 100, 1e3, 1e4, 1e6, 1e12} {
		k := densetest.Decaying[T](1, n, d, 1)
		for i := range n {
			row := k.Row(i)
			by := T(norm / math.Sqrt(2*halfSquaredNorm(row)))
			for j := range row {
				row[j] *= by
			}
		}
		for i := n / 4; i < n; i++ {
			copy(k.Row(i), k.Row(i%(n/4)/2))
		}
		for _, plain := range []bool{false, true} {
			l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: plain}, densetest.Source(1)))
			out := l.Forward(dense.Matrix[T]{}, k, k, densetest.Filled(n, 3, T(1)))
			for i := range out.Rows {
				for _, x := range out.Row(i) {
					if plain && norm <= 5 {
						require.False(t, math.IsNaN(float64(x)) || x <= 0, "norm %g, row %d: %g", norm, i, x)
					} else if !plain {
						require.Equal(t, T(1), x, "norm %g, row %d", norm, i)
					}
				}
			}
		}
		v := densetest.Decaying[T](2, n, 3, 1)
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: n / 4}, densetest.Source(1)))
		want := wide(must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(dense.Matrix[T]{}, k, k, v))
		// Scores have the rounding of numbers of the size of s·norm².
		if tolerance := 100 * densetest.Roundoff[T]() * (1 + norm*norm/8); tolerance < 0.1 {
			assert.Less(t, frobeniusError(l.Forward(dense.Matrix[T]{}, k, k, v), want), tolerance, "norm %g", norm)
		}
	}
}

func halfSquaredNorm[T dense.Float](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v) / 2
	}
	return sum
}

func TestLandmarkNorms(t *testing.T) {
	densetest.Both(t, testLandmarkNorms[float32], testLandmarkNorms[float64])
}

// All keys are equal: outputs are the mean of the values, whatever the queries are.
func testLandmarksOfEqualKeys[T dense.Float](t *testing.T) {
	const d, n = 8, 100
	k := densetest.Filled(n, d, T(3))
	v := densetest.Decaying[T](1, n, 2, 1)
	out := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: 16}, densetest.Source(1))).Forward(dense.Matrix[T]{}, densetest.Decaying[T](2, 20, d, 100), k, v)
	for j := range v.Cols {
		mean := 0.0
		for i := range n {
			mean += float64(v.Row(i)[j]) / n
		}
		for i := range out.Rows {
			assert.InDelta(t, mean, out.Row(i)[j], n*densetest.Roundoff[T]())
		}
	}
}

func TestLandmarksOfEqualKeys(t *testing.T) {
	densetest.Both(t, testLandmarksOfEqualKeys[float32], testLandmarksOfEqualKeys[float64])
}

// A NaN or Inf in a key makes every output NaN, in a value every output of its column, in a query
// its row.
func testLandmarkNaN[T dense.Float](t *testing.T) {
	const d, n, r = 4, 60, 16
	nan := func(m dense.Matrix[T]) (count int) {
		for _, x := range m.Data {
			if x != x {
				count++
			}
		}
		return count
	}
	for _, plain := range []bool{false, true} {
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: plain}, densetest.Source(1)))
		for row := range n {
			q, k, v := densetest.Decaying[T](1, 20, d, 1), densetest.Decaying[T](2, n, d, 1), densetest.Decaying[T](3, n, 3, 1)
			require.Zero(t, nan(l.Forward(dense.Matrix[T]{}, q, k, v)))
			v.Set(row, 1, T(math.NaN()))
			require.Equal(t, 20, nan(l.Forward(dense.Matrix[T]{}, q, k, v)))
			v.Set(row, 1, 0)
			k.Set(row, 2, T(math.NaN()))
			require.Equal(t, 60, nan(l.Forward(dense.Matrix[T]{}, q, k, v)))
			k.Set(row, 2, 0)
			q.Set(row%20, 2, T(math.NaN()))
			require.Equal(t, 3, nan(l.Forward(dense.Matrix[T]{}, q, k, v)))
		}
		all := densetest.Filled(n, d, T(math.NaN()))
		require.Equal(t, 60, nan(l.Forward(dense.Matrix[T]{}, densetest.Decaying[T](1, 20, d, 1), all, densetest.Decaying[T](3, n, 3, 1))))
	}
}

func TestLandmarkNaN(t *testing.T) {
	densetest.Both(t, testLandmarkNaN[float32], testLandmarkNaN[float64])
}

// The same bits on one processor and on three, and from several goroutines.
func testLandmarkBits[T dense.Float](t *testing.T) {
	const d, n, r = 16, 3000, 60
	q, k, v := densetest.Decaying[T](1, 500, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, d, 1)
	l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r}, densetest.Source(1)))
	run := func(processors int) [4]dense.Matrix[T] {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		dq, dk, dv := l.Backward(dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, q, k, v, q)
		return [4]dense.Matrix[T]{l.Forward(dense.Matrix[T]{}, q, k, v), dq, dk, dv}
	}
	want := run(1)
	results := make(chan [4]dense.Matrix[T])
	for range 2 {
		go func() { results <- run(3) }()
	}
	for range 2 {
		for i, got := range <-results {
			assert.True(t, densetest.Identical(want[i], got), "%d", i)
		}
	}
	other := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r}, densetest.Source(2))).Forward(dense.Matrix[T]{}, q, k, v)
	assert.False(t, densetest.Identical(want[0], other), "seeds differ")
}

func TestLandmarkBits(t *testing.T) {
	densetest.Both(t, testLandmarkBits[float32], testLandmarkBits[float64])
}

// Grouped heads, sequences and masks have the bits of each head and sequence by itself, without the
// keys that do not count. What does not count is NaN.
func testLandmarkBatch[T dense.Float](t *testing.T) {
	const heads, keyHeads, d, dv, r = 4, 2, 3, 2, 9
	rng := rand.New(densetest.Source(5))
	s := performer.Sequences{Queries: []int{5, 0, 70, 1, 6}, Keys: []int{40, 8, 90, 3, 0}}
	for _, plain := range []bool{false, true} {
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: plain}, densetest.Source(1)))
		b := must.Have(performer.NewBatch[T](heads, keyHeads, l))
		q, k, v := densetest.Decaying[T](1, sum(s.Queries), heads*d, 2), densetest.Decaying[T](2, sum(s.Keys), keyHeads*d, 2), densetest.Decaying[T](3, sum(s.Keys), keyHeads*dv, 1)
		for name, valid := range masks(rng, k.Rows) {
			k, v := k.Clone(), v.Clone()
			for j, counts := range valid {
				if !counts {
					layout.Fill(k.Row(j), T(math.NaN()))
					layout.Fill(v.Row(j), T(math.NaN()))
				}
			}
			s.Valid = valid
			want := eachQuery[T](l, heads, keyHeads, q, k, v, s)
			require.True(t, densetest.Identical(want, b.ForwardSequences(dense.Matrix[T]{}, q, k, v, s)), name)
		}
	}
}

func TestLandmarkBatch(t *testing.T) {
	densetest.Both(t, testLandmarkBatch[float32], testLandmarkBatch[float64])
}

func testLandmarkAllocations[T dense.Float](t *testing.T) {
	const d, n = 16, 3000
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: 40}, densetest.Source(1)))
	q, v, dst := densetest.Decaying[T](1, n, d, 2), densetest.Decaying[T](2, n, d, 1), dense.New[T](n, d)
	for _, processors := range []int{1, 2} {
		assert.Zero(t, allocs.Settled(processors, func() { l.Forward(dst, q, q, v) }), "%d processors", processors)
	}
}

func TestLandmarkAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testLandmarkAllocations[float32], testLandmarkAllocations[float64])
}

// Differences of the formula at four points around each element; landmarks stay where they are.
func testLandmarkGradients[T dense.Float](t *testing.T) {
	const d, dv, n, r = 3, 2, 30, 8
	for _, plain := range []bool{false, true} {
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: plain}, densetest.Source(1)))
		q, k, v, dout := densetest.Decaying[T](1, 10, d, 2), densetest.Decaying[T](2, n, d, 2), densetest.Decaying[T](3, n, dv, 1), densetest.Decaying[T](4, 10, dv, 1)
		b := newByLandmarks(l, k)
		dq, dk, dv := l.Backward(dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, q, k, v, dout)
		x := [3]dense.Matrix[float64]{wide(q), wide(k), wide(v)}
		loss := func() float64 {
			out, _ := b.forward(x[0], x[1], x[2])
			return floats.Dot(out.Data, wide(dout).Data)
		}
		for i, got := range []dense.Matrix[T]{dq, dk, dv} {
			for at := range x[i].Data {
				const h = 1e-3
				was := x[i].Data[at]
				after := func(steps float64) float64 {
					x[i].Data[at] = was + steps*h
					return loss()
				}
				slope := (8*(after(1)-after(-1)) - (after(2) - after(-2))) / (12 * h)
				x[i].Data[at] = was
				// Fifth derivatives make an error of h⁴, cancellation one of u·condition/h.
				tolerance := (1e-8 + 100*densetest.Roundoff[T]()*b.condition) * (1 + math.Abs(slope))
				require.Less(t, tolerance, 0.02*(1+math.Abs(slope)))
				require.InDelta(t, slope, float64(got.Data[at]), tolerance, "%d, element %d, unnormalised %v", i, at, plain)
			}
		}
	}
}

func TestLandmarkGradients(t *testing.T) {
	densetest.Both(t, testLandmarkGradients[float32], testLandmarkGradients[float64])
}

// Gradients of masked, grouped batches are sums of those of each head, over the keys that count.
func TestLandmarkBatchGradients(t *testing.T) {
	const heads, keyHeads, d, dv, n, r = 4, 2, 3, 2, 50, 8
	l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: r}, densetest.Source(1)))
	b := must.Have(performer.NewBatch[float64](heads, keyHeads, l))
	q, k, v, dout := densetest.Decaying[float64](1, 20, heads*d, 2), densetest.Decaying[float64](2, n, keyHeads*d, 2), densetest.Decaying[float64](3, n, keyHeads*dv, 1), densetest.Decaying[float64](4, 20, heads*dv, 1)
	valid := make([]bool, n)
	var rows []int
	for j := range valid {
		if valid[j] = j%3 != 1; valid[j] {
			rows = append(rows, j)
		} else {
			layout.Fill(k.Row(j), math.NaN())
			layout.Fill(v.Row(j), math.NaN())
		}
	}
	dq, dk, dval := b.BackwardSequences(dense.Matrix[float64]{}, dense.Matrix[float64]{}, dense.Matrix[float64]{}, q, k, v, dout, performer.Sequences{Queries: []int{20}, Keys: []int{n}, Valid: valid})
	wantQ, wantK, wantV := dense.New[float64](20, heads*d), dense.New[float64](n, keyHeads*d), dense.New[float64](n, keyHeads*dv)
	for h := range heads {
		g := h / (heads / keyHeads)
		keys, values := dense.New[float64](len(rows), d), dense.New[float64](len(rows), dv)
		for i, j := range rows {
			copy(keys.Row(i), k.Row(j)[g*d:])
			copy(values.Row(i), v.Row(j)[g*dv:])
		}
		none := dense.Matrix[float64]{}
		a, c, e := l.Backward(none, none, none, q.ColRange(h*d, h*d+d), keys, values, dout.ColRange(h*dv, h*dv+dv))
		dense.Copy(wantQ.ColRange(h*d, h*d+d), a)
		for i, j := range rows {
			floats.Add(wantK.Row(j)[g*d:g*d+d], c.Row(i))
			floats.Add(wantV.Row(j)[g*dv:g*dv+dv], e.Row(i))
		}
	}
	for i, pair := range [][2]dense.Matrix[float64]{{wantQ, dq}, {wantK, dk}, {wantV, dval}} {
		assert.Less(t, frobeniusError(pair[1], pair[0]), 1e-10, "%d", i)
	}
}

func TestNewLandmarksErrors(t *testing.T) {
	for want, f := range map[string]func() (performer.Landmarks[float64], error){
		"performer: Landmarks = 0, want at least 1": func() (performer.Landmarks[float64], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: 0}, densetest.Source(1))
		},
		"performer: src is nil": func() (performer.Landmarks[float64], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: 5}, nil)
		},
		"performer: Scale = -1, want a finite number of at least 0": func() (performer.Landmarks[float64], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: 5, Scale: -1}, densetest.Source(1))
		},
		"performer: Scale = NaN, want a finite number of at least 0": func() (performer.Landmarks[float64], error) {
			return performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: 5, Scale: math.NaN()}, densetest.Source(1))
		},
	} {
		_, err := f()
		assert.EqualError(t, err, want)
	}
	_, err := performer.NewLandmarks(performer.LandmarkOptions[float64]{Landmarks: math.MaxInt}, densetest.Source(1))
	assert.ErrorContains(t, err, fmt.Sprintf("performer: Landmarks = %d: ", math.MaxInt))
}
