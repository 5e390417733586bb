package performer

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/maptest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/rff"
)

// corrigible is a base of attention with scale 0.5 for points of R^4.
type corrigible[T dense.Float] struct {
	name string
	of   func(o LinearOptions) Form[T]
}

// corrigibles returns bases of every kind; those of landmarks that are chosen cannot be causal.
func corrigibles[T dense.Float]() []corrigible[T] {
	const d = 4
	exact := func(o LinearOptions) Exact[T] { return Exact[T]{Causal: o.Causal, Unnormalised: o.Unnormalised} }
	byMap := func(m rff.Map[T]) func(LinearOptions) Form[T] {
		return func(o LinearOptions) Form[T] { return attention(m, o) }
	}
	q, k := densetest.Decaying[T](1, 50, d, 3), densetest.Decaying[T](2, 50, d, 3)
	return []corrigible[T]{
		{"landmarks", func(o LinearOptions) Form[T] { return must.Have(NewLandmarks(exact(o), 9, densetest.Source(3))) }},
		{"given landmarks", func(o LinearOptions) Form[T] {
			return must.Have(NewLandmarksAt(exact(o), densetest.Decaying[T](9, 9, d, 3)))
		}},
		{"centred landmarks", func(o LinearOptions) Form[T] {
			return must.Have(must.Have(NewLandmarksAt(exact(o), densetest.Decaying[T](9, 9, d, 3))).Centred([]T{0.3, 0, 0.1, -0.2}, []T{0, 0.2, 0.2, 0.1}))
		}},
		{"positive", byMap(must.Have(rff.SoftmaxPositive(maptest.Frequencies[T](24, d), 0.5)))},
		{"trigonometric", byMap(must.Have(rff.SoftmaxTrig(maptest.Frequencies[T](24, d), 0.5)))},
		{"SADERF", byMap(must.Have(rff.SADERF(maptest.Frequencies[T](24, d), q, k, 0.5)))},
	}
}

// isNear reports whether key j is near query i, for m features.
func isNear(i, j, window, m int) bool {
	t := max(window, m)
	c := max(0, i-window) / t
	return window > 0 && t*c <= j && j < t*(c+1)+2*window
}

// bothWeights are the weights of a base that is not normalised, and the exact ones, of keys that count.
type bothWeights[T dense.Float] struct {
	q, k, v            dense.Matrix[T]
	valid              []bool
	keys, values       dense.Matrix[T]
	approximate, exact dense.Matrix[float64]
}

func newBothWeights[T dense.Float](base Form[T], q, k, v dense.Matrix[T], valid []bool) *bothWeights[T] {
	b := &bothWeights[T]{q: q, k: k, v: v, valid: valid}
	b.keys, b.values, _ = layout.ValidOnly(k, v, valid)
	b.approximate = wide(base.Forward(dense.Matrix[T]{}, q, b.keys, identity[T](b.keys.Rows)))
	b.exact = Exact[float64]{Scale: 0.5, Unnormalised: true}.Weights(dense.Matrix[float64]{}, wide(q), wide(b.keys))
	return b
}

// corrected is bidirectional attention by the definition of c: the outputs, and for each row a bound
// of the sum of absolute terms.
func (b *bothWeights[T]) corrected(c *Corrected[T]) (out dense.Matrix[float64], terms []float64) {
	coefficients := make([]float64, b.keys.Rows)
	if c.inside().opts.Samples > 0 {
		w, chosen := c.inside().open(request[T]{q: b.q, k: b.k, v: b.v, heads: 1, valid: b.valid}, b.keys, b.values)
		for j, left := range w.Left() {
			coefficients[j] = 1 - float64(left)
		}
		c.inside().close(w, chosen)
	}
	largest := 1.0
	for _, x := range b.values.Data {
		largest = max(largest, math.Abs(float64(x)))
	}
	out, terms = dense.New[float64](b.q.Rows, b.v.Cols), make([]float64, b.q.Rows)
	for i := range b.q.Rows {
		exact, approximate, row := b.exact.Row(i), b.approximate.Row(i), out.Row(i)
		total, at := 0.0, -1
		for j := range b.k.Rows {
			if b.valid != nil && !b.valid[j] {
				continue
			}
			at++
			w, by := exact[at], coefficients[at]
			if !isNear(i, j, c.inside().opts.Window, c.inside().engine.M) {
				w = approximate[at] + by*(w-approximate[at])
			}
			total += w
			terms[i] += (1 + by) * (math.Abs(exact[at]) + math.Abs(approximate[at])) * largest
			for col, y := range b.values.Row(at) {
				row[col] += w * float64(y)
			}
		}
		if !c.inside().exact.Unnormalised && at >= 0 {
			terms[i] /= math.Abs(total)
			for col := range row {
				row[col] /= total
			}
		}
	}
	return out, terms
}

// Every base, window, sample and mask, fewer queries than keys and more, as the definition has it.
func testCorrectedDefinition[T dense.Float](t *testing.T) {
	const d, dv = 4, 3
	none := dense.Matrix[T]{}
	rng := rand.New(densetest.Source(1))
	for _, base := range corrigibles[T]() {
		for _, size := range [][2]int{{90, 90}, {30, 80}, {100, 40}, {1, 30}} {
			q, k, v := densetest.Decaying[T](4, size[0], d, 3), densetest.Decaying[T](5, size[1], d, 3), densetest.Decaying[T](6, size[1], dv, 1)
			for name, valid := range masks(rng, k.Rows) {
				if name == "none" {
					continue
				}
				spoilt, values := k.Clone(), v.Clone()
				for j, counts := range valid {
					if !counts {
						layout.Fill(spoilt.Row(j), T(math.NaN()))
						layout.Fill(values.Row(j), T(math.NaN()))
					}
				}
				both := newBothWeights(base.of(LinearOptions{Unnormalised: true}), q, k, v, valid)
				for _, plain := range []bool{false, true} {
					form := base.of(LinearOptions{Unnormalised: plain})
					for _, o := range []CorrectedOptions{{Window: 1}, {Window: 14}, {Samples: 15}, {Window: 3, Samples: 15}} {
						c := must.Have(NewCorrected(form, o, densetest.Source(7)))
						batch := must.Have(NewBatch[T](1, 1, c))
						got := batch.ForwardSequences(none, q, spoilt, values, Sequences{Queries: []int{q.Rows}, Keys: []int{k.Rows}, Valid: valid})
						want, terms := both.corrected(c)
						wider := must.Have(NewCorrected(form, CorrectedOptions{o.Window + 2, o.Samples}, densetest.Source(7)))
						wrong, _ := both.corrected(wider)
						noticed := size[0] != size[1]
						for i := range q.Rows {
							// By landmarks G⁻¹ magnifies rounding.
							tolerance := 40 * float64(k.Rows+c.inside().engine.M+d) * densetest.Roundoff[T]() * terms[i]
							for col, x := range got.Row(i) {
								if !(math.Abs(want.At(i, col)-float64(x)) <= tolerance) {
									require.InDelta(t, want.At(i, col), float64(x), tolerance, "%s %v %+v %s, unnormalised %v, row %d", base.name, size, o, name, plain, i)
								}
								noticed = noticed || math.Abs(wrong.At(i, col)-float64(x)) > tolerance
							}
						}
						require.True(t, noticed, "%s %v %+v %s: another window", base.name, size, o, name)
					}
				}
			}
		}
	}
}

func TestCorrectedDefinition(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testCorrectedDefinition[float32], testCorrectedDefinition[float64])
}

// With no keys outputs are zero. A window of all keys, as many samples as keys and as many chosen
// landmarks as keys are exact attention, to the bit.
func testCorrectedLengths[T dense.Float](t *testing.T) {
	const d, dv = 4, 3
	none := dense.Matrix[T]{}
	for _, base := range corrigibles[T]() {
		for _, n := range []int{0, 1, 2, 60} {
			for _, plain := range []bool{false, true} {
				exact := Exact[T]{Unnormalised: plain, Scale: 0.5}
				q, k, v := densetest.Decaying[T](4, n, d, 3), densetest.Decaying[T](5, n, d, 3), densetest.Decaying[T](6, n, dv, 1)
				want := exact.Forward(none, q, k, v)
				for _, o := range []CorrectedOptions{{Window: max(n, 1)}, {Window: math.MaxInt}, {Samples: max(n, 1)}, {Samples: math.MaxInt, Window: 1}} {
					c := must.Have(NewCorrected(base.of(LinearOptions{Unnormalised: plain}), o, densetest.Source(1)))
					require.True(t, densetest.Identical(want, c.Forward(none, q, k, v)), "%s %d %+v", base.name, n, o)
					require.Zero(t, floats.Sum(c.Variances(q, k, v).Data))
				}
				c := must.Have(NewCorrected(base.of(LinearOptions{Unnormalised: plain}), CorrectedOptions{3, 5}, densetest.Source(1)))
				assert.Zero(t, c.Forward(none, densetest.Decaying[T](4, 3, d, 3), k.RowRange(0, 0), v.RowRange(0, 0)).At(2, 2))
				assert.Zero(t, c.Forward(none, q.RowRange(0, 0), k, v).Rows)
				assert.Zero(t, c.Forward(none, q, k, v.ColRange(0, 0)).Cols)
			}
		}
	}
	q, k, v := densetest.Decaying[T](4, 50, d, 3), densetest.Decaying[T](5, 50, d, 3), densetest.Decaying[T](6, 50, dv, 1)
	c := must.Have(NewCorrected[T](must.Have(NewLandmarks(Exact[T]{}, 50, densetest.Source(1))), CorrectedOptions{3, 5}, densetest.Source(1)))
	require.True(t, densetest.Identical(Exact[T]{}.Forward(none, q, k, v), c.Forward(none, q, k, v)))
}

func TestCorrectedLengths(t *testing.T) {
	densetest.Both(t, testCorrectedLengths[float32], testCorrectedLengths[float64])
}

// Every key several times, and as many landmarks as there are different keys: nothing is left to
// correct, and outputs are exact to rounding. All keys equal: outputs are the mean of the values.
func testCorrectedDuplicates[T dense.Float](t *testing.T) {
	const d, dv, n, r = 4, 3, 210, 30
	none := dense.Matrix[T]{}
	k, v := densetest.Decaying[T](5, n, d, 3), densetest.Decaying[T](6, n, dv, 1)
	for j := r; j < n; j++ {
		copy(k.Row(j), k.Row(j%r))
	}
	equal := densetest.Filled(n, d, T(1))
	for _, o := range []CorrectedOptions{{Window: 7}, {Samples: 9}, {Window: 7, Samples: 9}} {
		c := must.Have(NewCorrected[T](must.Have(NewLandmarks(Exact[T]{}, r, densetest.Source(1))), o, densetest.Source(1)))
		want := wide(Exact[T]{}.Forward(none, k, k, v))
		assert.Less(t, frobeniusError(c.Forward(none, k, k, v), want), 300*densetest.Roundoff[T](), "%+v", o)
		for i, x := range c.Variances(k, k, v).Data {
			require.Less(t, x, 1e3*densetest.Roundoff[T](), "%+v %d", o, i)
		}
		mean := wide(Exact[T]{}.Forward(none, k, equal, v))
		assert.Less(t, frobeniusError(c.Forward(none, k, equal, v), mean), 300*densetest.Roundoff[T](), "%+v", o)
	}
}

func TestCorrectedDuplicates(t *testing.T) {
	densetest.Both(t, testCorrectedDuplicates[float32], testCorrectedDuplicates[float64])
}

// Norms up to 10⁶: values of 1 give exactly 1, and a window of keys that are the queries the values
// of these.
func testCorrectedNorms[T dense.Float](t *testing.T) {
	const d, n, r = 16, 300, 40
	none := dense.Matrix[T]{}
	for _, norm := range []float64{1e-3, 5, 30, 100, 1e6} {
		k, v := densetest.Decaying[T](1, n, d, 1), densetest.Decaying[T](2, n, 3, 1)
		for i := range n {
			row := k.Row(i)
			by := T(norm / math.Sqrt(2*halfSquaredNorm(row)))
			for j := range row {
				row[j] *= by
			}
		}
		for _, base := range []Form[T]{
			must.Have(NewLandmarks(Exact[T]{}, r, densetest.Source(1))), must.Have(NewLandmarksAt(Exact[T]{}, k.RowRange(0, r))),
			attention(must.Have(rff.SoftmaxPositive(maptest.Frequencies[T](r, d), 0.25)), LinearOptions{}),
		} {
			for _, o := range []CorrectedOptions{{Window: 8}, {Samples: 60}, {8, 60}} {
				c := must.Have(NewCorrected(base, o, densetest.Source(2)))
				for i, x := range c.Forward(none, k, k, densetest.Filled(n, 2, T(1))).Data {
					require.Equal(t, T(1), x, "%T, norm %g, %+v, %d", base, norm, o, i)
				}
				if norm >= 30 && o.Window > 0 {
					want := wide(Exact[T]{}.Forward(none, k, k, v))
					assert.Less(t, frobeniusError(c.Forward(none, k, k, v), want), 1e-3, "%T, norm %g, %+v", base, norm, o)
				}
				if norm > 100 {
					continue // scores of float32 have errors of any size
				}
				for _, x := range c.Variances(k, k, v).Data {
					require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%T, norm %g, %+v: %v", base, norm, o, x)
				}
			}
		}
	}
}

func TestCorrectedNorms(t *testing.T) {
	densetest.Both(t, testCorrectedNorms[float32], testCorrectedNorms[float64])
}

// A NaN in a key makes every output NaN, in a value every output of its column, in a query its row.
func testCorrectedNaN[T dense.Float](t *testing.T) {
	const d, n = 4, 60
	nan := func(m dense.Matrix[T]) (count int) {
		for _, x := range m.Data {
			if x != x {
				count++
			}
		}
		return count
	}
	for _, base := range corrigibles[T]() {
		for _, o := range []CorrectedOptions{{Window: 4}, {Samples: 20}, {4, 20}} {
			c := must.Have(NewCorrected(base.of(LinearOptions{}), o, densetest.Source(1)))
			for row := 0; row < n; row += 6 {
				q, k, v := densetest.Decaying[T](1, 20, d, 1), densetest.Decaying[T](2, n, d, 1), densetest.Decaying[T](3, n, 3, 1)
				v.Set(row, 1, T(math.NaN()))
				require.Equal(t, 20, nan(c.Forward(dense.Matrix[T]{}, q, k, v)), "%s %+v", base.name, o)
				v.Set(row, 1, 0)
				k.Set(row, 2, T(math.NaN()))
				require.Equal(t, 60, nan(c.Forward(dense.Matrix[T]{}, q, k, v)), "%s %+v", base.name, o)
				k.Set(row, 2, 0)
				q.Set(row%20, 2, T(math.NaN()))
				require.Equal(t, 3, nan(c.Forward(dense.Matrix[T]{}, q, k, v)), "%s %+v", base.name, o)
			}
		}
	}
}

func TestCorrectedNaN(t *testing.T) {
	densetest.Both(t, testCorrectedNaN[float32], testCorrectedNaN[float64])
}

// The same bits on one processor and on three, and from several goroutines; others from another
// seed.
func testCorrectedBits[T dense.Float](t *testing.T) {
	const d, n = 4, 700
	q, k, v := densetest.Decaying[T](1, n, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, d, 1)
	for _, base := range corrigibles[T]() {
		for _, o := range []CorrectedOptions{{Window: 40}, {Samples: 70}, {40, 70}} {
			c := must.Have(NewCorrected(base.of(LinearOptions{}), o, densetest.Source(1)))
			run := func(processors int) dense.Matrix[T] {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				return c.Forward(dense.Matrix[T]{}, q, k, v)
			}
			want := run(1)
			results := make(chan dense.Matrix[T])
			for range 2 {
				go func() { results <- run(3) }()
			}
			for range 2 {
				assert.True(t, densetest.Identical(want, <-results), "%s %+v", base.name, o)
			}
			other := must.Have(NewCorrected(base.of(LinearOptions{}), o, densetest.Source(2))).Forward(dense.Matrix[T]{}, q, k, v)
			assert.Equal(t, o.Samples == 0, densetest.Identical(want, other), "%s %+v", base.name, o)
		}
	}
}

func TestCorrectedBits(t *testing.T) {
	densetest.Both(t, testCorrectedBits[float32], testCorrectedBits[float64])
}

// Grouped heads and sequences have the bits of each head and sequence by itself.
func testCorrectedBatch[T dense.Float](t *testing.T) {
	const heads, keyHeads, d, dv = 4, 2, 4, 2
	none := dense.Matrix[T]{}
	s := Sequences{Queries: []int{5, 0, 70, 1, 6}, Keys: []int{40, 8, 90, 3, 0}}
	q, k, v := densetest.Decaying[T](1, sum(s.Queries), heads*d, 2), densetest.Decaying[T](2, sum(s.Keys), keyHeads*d, 2), densetest.Decaying[T](3, sum(s.Keys), keyHeads*dv, 1)
	for _, base := range corrigibles[T]() {
		for _, o := range []CorrectedOptions{{Window: 5}, {Samples: 20}, {5, 20}} {
			c := must.Have(NewCorrected(base.of(LinearOptions{}), o, densetest.Source(1)))
			got := must.Have(NewBatch[T](heads, keyHeads, c)).ForwardSequences(none, q, k, v, s)
			q0, k0 := 0, 0
			for i, lq := range s.Queries {
				for h := range heads {
					rows, keys := q.RowRange(q0, q0+lq), k.RowRange(k0, k0+s.Keys[i])
					values := v.RowRange(k0, k0+s.Keys[i])
					g := h / (heads / keyHeads)
					want := c.Forward(none, rows.ColRange(h*d, h*d+d), keys.ColRange(g*d, g*d+d), values.ColRange(g*dv, g*dv+dv))
					require.True(t, densetest.Identical(want, got.RowRange(q0, q0+lq).ColRange(h*dv, h*dv+dv)), "%s %+v", base.name, o)
				}
				q0, k0 = q0+lq, k0+s.Keys[i]
			}
		}
	}
}

func TestCorrectedBatch(t *testing.T) {
	densetest.Both(t, testCorrectedBatch[float32], testCorrectedBatch[float64])
}

func testCorrectedAllocations[T dense.Float](t *testing.T) {
	const d, n = 4, 500
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	q, v, dst := densetest.Decaying[T](1, n, d, 2), densetest.Decaying[T](2, n, d, 1), dense.New[T](n, d)
	for _, base := range corrigibles[T]() {
		c := must.Have(NewCorrected(base.of(LinearOptions{}), CorrectedOptions{40, 50}, densetest.Source(1)))
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() { c.Forward(dst, q, q, v) }), "%s, %d processors", base.name, processors)
		}
	}
}

func TestCorrectedAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testCorrectedAllocations[float32], testCorrectedAllocations[float64])
}

func TestNewCorrectedErrors(t *testing.T) {
	l := must.Have(NewLandmarks(Exact[float64]{}, 5, densetest.Source(1)))
	causal := attention(maptest.Positive[float64](8, 3), LinearOptions{Causal: true})
	window := CorrectedOptions{Window: 1}
	for want, f := range map[string]func() (*Corrected[float64], error){
		"performer: base is a performer.Exact[float64], want a *Linear or a *Landmarks": func() (*Corrected[float64], error) {
			return NewCorrected[float64](Exact[float64]{}, window, nil)
		},
		"performer: base is a <nil>, want a *Linear or a *Landmarks": func() (*Corrected[float64], error) { return NewCorrected[float64](nil, window, nil) },
		"performer: base is a nil or zero Linear, want one of NewLinear": func() (*Corrected[float64], error) {
			return NewCorrected[float64](new(Linear[float64]), window, nil)
		},
		"performer: base is a nil or zero Landmarks, want one of NewLandmarks": func() (*Corrected[float64], error) {
			return NewCorrected[float64](new(Landmarks[float64]), window, nil)
		},
		"performer: base has a map of the kernel ELU{}, want kernels.Softmax": func() (*Corrected[float64], error) {
			return NewCorrected[float64](attention(must.Have(rff.ELU[float64](3)), LinearOptions{}), window, nil)
		},
		"performer: Window = -1, want at least 0": func() (*Corrected[float64], error) {
			return NewCorrected[float64](l, CorrectedOptions{Window: -1}, nil)
		},
		"performer: Samples = -2, want at least 0": func() (*Corrected[float64], error) {
			return NewCorrected[float64](l, CorrectedOptions{Samples: -2}, nil)
		},
		"performer: Window and Samples are 0, want at least one of them above 0": func() (*Corrected[float64], error) {
			return NewCorrected[float64](l, CorrectedOptions{}, densetest.Source(1))
		},
		"performer: src is nil": func() (*Corrected[float64], error) {
			return NewCorrected[float64](l, CorrectedOptions{Samples: 3}, nil)
		},
		"performer: Samples = 3 for a causal base, want 0: the probability of a key would depend on later keys": func() (*Corrected[float64], error) {
			return NewCorrected[float64](causal, CorrectedOptions{Samples: 3}, densetest.Source(1))
		},
	} {
		_, err := f()
		assert.EqualError(t, err, want)
	}
	none := dense.Matrix[float64]{}
	c := must.Have(NewCorrected[float64](causal, window, nil))
	_, differentiable := any(c).(Differentiable[float64])
	assert.False(t, differentiable, "a Corrected has no derivatives")
	assert.EqualError(t, must.Have(NewBatch[float64](1, 1, c)).CanBackward(), "performer: *performer.Corrected[float64] has no derivatives, want a Differentiable")
	for want, f := range map[string]func(){
		"performer: the Corrected is zero, want one of NewCorrected":                       func() { new(Corrected[float64]).Forward(none, none, none, none) },
		"performer: q is 5×2, k is 5×2, but the base takes points of R^3":                  func() { c.Forward(none, dense.New[float64](5, 2), dense.New[float64](5, 2), dense.New[float64](5, 1)) },
		"performer: q is 4×3, k is 5×3, want as many queries as keys for causal attention": func() { c.Forward(none, dense.New[float64](4, 3), dense.New[float64](5, 3), dense.New[float64](5, 1)) },
	} {
		assert.PanicsWithValue(t, want, f)
	}
}
