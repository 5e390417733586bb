package orf_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// construction is an ensemble with what the tests need to know of it.
type construction[T dense.Float] struct {
	name  string
	e     orf.Ensemble
	fixed orf.Ensemble    // e with FixedLength
	order func(d int) int // rows of a block
	ops   func(d int) int // roundings on the way to one element of Project
	// cosine returns the cosine of the angle between any two rows of a block of order d;
	// nil if they are at no fixed angle.
	cosine func(d int) float64
}

func constructions[T dense.Float]() []construction[T] {
	same := func(d int) int { return d }
	// Three factors, each of scale and transform; a core of order h ≤ d' takes h/4 + 2 additions.
	rotation := func(d int) int { return 3 * (bits.Len(uint(d)) + d/4 + 4) }
	right := func(int) float64 { return 0 }
	turns := func(d int) int { return 4 * int(float64(d)*math.Log2(float64(d))+2) }
	repelled := func(d int) float64 { return -1 / float64(max(1, d-1)) }
	return []construction[T]{
		{"IID", orf.IID{}, orf.IID{FixedLength: true}, same, same, nil},
		{"GramSchmidt", orf.GramSchmidt{}, orf.GramSchmidt{FixedLength: true}, same, same, right},
		{"Hadamard", orf.Hadamard{}, orf.Hadamard{FixedLength: true}, hadamard.FastOrder, rotation, right},
		{"Givens", orf.Givens{}, orf.Givens{FixedLength: true}, same, turns, right},
		{"Simplex", orf.Simplex{}, orf.Simplex{FixedLength: true}, same, same, repelled},
	}
}

// forEach runs test on every ensemble of blocks and on IID.
func forEach[T dense.Float](t *testing.T, test func(t *testing.T, c construction[T])) {
	for _, c := range constructions[T]() {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

func (c construction[T]) draw(m, d int, src rand.Source) (orf.Projection[T], error) {
	return orf.Draw[T](c.e, m, d, src)
}

func (c construction[T]) must(t *testing.T, m, d int, seed uint64) orf.Projection[T] {
	return must.Have(c.draw(m, d, exprand.NewSource(seed)))
}

// fixedLength returns c with frequencies of fixed length.
func (c construction[T]) fixedLength() construction[T] {
	c.e = c.fixed
	return c
}

func dot[T dense.Float](x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func norm[T dense.Float](x []T) float64 { return math.Sqrt(dot(x, x)) }

var shapes = [][2]int{{1, 1}, {5, 1}, {1, 2}, {3, 7}, {7, 7}, {8, 8}, {20, 7}, {30, 12}, {70, 33}, {90, 44}, {200, 64}}

// Every projection keeps the contracts of Projection and Transposer.
func testContracts[T dense.Float](t *testing.T) {
	for _, s := range shapes {
		for name, p := range transposers[T](t, s[0], s[1]) {
			assert.NoError(t, conformance.Projection(p.(orf.Projection[T])), "%s %v", name, s)
		}
		if s[0] > 30 {
			continue
		}
		for _, c := range constructions[T]() {
			assert.NoError(t, conformance.Projection(c.fixedLength().must(t, s[0], s[1], 1)), "%s %v of fixed length", c.name, s)
		}
	}
}

func TestContracts(t *testing.T) { densetest.Both(t, testContracts[float32], testContracts[float64]) }

func testProcessors[T dense.Float](t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const n, m, d = 300, 150, 60
	x, z := densetest.Gapped[T](2, n, d), densetest.Gapped[T](2, n, m)
	for name, p := range transposers[T](t, m, d) {
		y, back := p.Project(dense.Matrix[T]{}, x), p.ProjectTransposed(dense.Matrix[T]{}, z)
		for _, processors := range []int{1, 3} {
			runtime.GOMAXPROCS(processors)
			require.Equal(t, y, p.Project(dense.Matrix[T]{}, x), "%s: %d processors", name, processors)
			require.Equal(t, back, p.ProjectTransposed(dense.Matrix[T]{}, z), "%s: %d processors", name, processors)
		}
	}
}

func TestRowsDoNotDependOnProcessors(t *testing.T) {
	densetest.Both(t, testProcessors[float32], testProcessors[float64])
}

// TestRows checks that rows of a block are at their angle, that blocks are not, and
// that a smaller m is the beginning of a larger one.
func TestRows(t *testing.T) {
	forEach(t, func(t *testing.T, c construction[float64]) {
		for _, s := range shapes {
			m, d := s[0], s[1]
			w := c.must(t, m, d, 1).Frequencies()
			longer := c.must(t, m+2*c.order(d)+1, d, 1).Frequencies()
			for k := range m {
				for j, v := range w.Row(k) {
					require.InDelta(t, longer.At(k, j), v, 1e-13*norm(w.Row(k)), "%v: row %d is that of a longer draw", s, k)
				}
			}
			if c.cosine == nil || c.order(d) != d {
				continue
			}
			across := 0.0
			for k := range longer.Rows {
				for l := range k {
					cos := dot(longer.Row(k), longer.Row(l)) / (norm(longer.Row(k)) * norm(longer.Row(l)))
					if k/d == l/d {
						require.InDelta(t, c.cosine(d), cos, 1e-13, "%v: rows %d and %d", s, k, l)
					} else {
						across = max(across, math.Abs(cos-c.cosine(d)))
					}
				}
			}
			require.Greater(t, across, 0.01, "%v: blocks are independent", s)
		}
	})
}

func TestSeedsAndTypesAgree(t *testing.T) {
	single := constructions[float32]()
	for i, c := range constructions[float64]() {
		t.Run(c.name, func(t *testing.T) {
			p := c.must(t, 20, 7, 4)
			assert.Equal(t, p.Frequencies(), c.must(t, 20, 7, 4).Frequencies(), "same seed")
			assert.NotEqual(t, p.Frequencies(), c.must(t, 20, 7, 5).Frequencies(), "another seed")
			assert.NotEqual(t, p.Frequencies(), c.fixedLength().must(t, 20, 7, 4).Frequencies(), "FixedLength")

			q := single[i].must(t, 20, 7, 4)
			if c.name != "Hadamard" && c.name != "Givens" {
				assert.Equal(t, dense.Copy(dense.Matrix[float32]{}, p.Frequencies()), q.Frequencies(), "float32 is float64 rounded")
				return
			}
			for k := range 20 {
				for j, v := range p.Frequencies().Row(k) {
					tol := float64(c.ops(7)+2) * 0x1p-24 * 3 * math.Sqrt(float64(c.order(7)))
					assert.InDelta(t, v, float64(q.Frequencies().At(k, j)), tol)
				}
			}
		})
	}
}

func testOf[T dense.Float](t *testing.T) {
	w := densetest.Gapped[T](1, 4, 3)
	p := must.Have(orf.FromMatrix(w))
	assert.Equal(t, w.Clone(), p.Frequencies())
	x := dense.Of(1, 3, []T{0, 2, 0})
	before := p.Project(dense.Matrix[T]{}, x)
	for k := range 4 {
		assert.Equal(t, 2*w.At(k, 1), before.At(0, k))
	}
	w.Set(0, 1, 50)
	assert.Equal(t, before, p.Project(dense.Matrix[T]{}, x), "w is copied")
	for _, empty := range [][2]int{{0, 3}, {3, 0}} {
		_, err := orf.FromMatrix(dense.New[T](empty[0], empty[1]))
		assert.EqualError(t, err, fmt.Sprintf("orf: w is %d×%d, want at least 1×1", empty[0], empty[1]))
	}
	data := make([]T, 5)
	for text, bad := range map[string]dense.Matrix[T]{
		"-1×2, want at least 1×1":                                                        {Rows: -1, Cols: 2, Stride: 2, Data: data},
		"5 elements and stride 2, which is no 3×2 matrix":                                {Rows: 3, Cols: 2, Stride: 2, Data: data},
		"5 elements and stride 4, which is no 2×2 matrix":                                {Rows: 2, Cols: 2, Stride: 4, Data: data},
		"5 elements and stride 1, which is no 2×2 matrix":                                {Rows: 2, Cols: 2, Stride: 1, Data: data},
		"5 elements and stride 0, which is no 2×1 matrix":                                {Rows: 2, Cols: 1, Data: data},
		"5 elements and stride 6, which is no 1×6 matrix":                                {Rows: 1, Cols: 6, Stride: 6, Data: data},
		fmt.Sprintf("5 elements and stride %d, which is no 3×2 matrix", math.MaxInt/2+1): {Rows: 3, Cols: 2, Stride: math.MaxInt/2 + 1, Data: data},
	} {
		assert.Panics(t, bad.Check)
		_, err := orf.FromMatrix(bad)
		assert.ErrorContains(t, err, "orf: w ")
		assert.ErrorContains(t, err, text)
	}
	last, err := orf.FromMatrix(dense.Matrix[T]{Rows: 2, Cols: 2, Stride: 3, Data: data})
	require.NoError(t, err, "the last row needs no more than its columns")
	assert.Equal(t, dense.New[T](2, 2), last.Frequencies())
	for text, bad := range map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1)} {
		w.Set(2, 1, T(bad))
		_, err := orf.FromMatrix(w)
		assert.EqualError(t, err, "orf: w has "+text+" in row 2, column 1, want finite frequencies")
	}
}

func TestOf(t *testing.T) {
	densetest.Both(t, testOf[float32], testOf[float64])
}

// A row whose norm overflows has finite projections where its elements allow them. A row with NaN
// or infinity in any element, mixed or not, has none.
func TestGivensOfExtremeRows(t *testing.T) {
	w := must.Have(orf.Draw[float64](orf.Givens{}, 3, 9, exprand.NewSource(1)))
	x := dense.New[float64](1, 9)
	for j := range x.Cols {
		x.Set(0, j, 1e200*float64(1-j%2*2))
	}
	for _, v := range w.Project(dense.Matrix[float64]{}, x).Data {
		assert.False(t, math.IsNaN(v) || math.IsInf(v, 0))
	}
	for j := range x.Cols {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			y := x.Clone()
			y.Set(0, j, bad)
			for _, v := range w.Project(dense.Matrix[float64]{}, y).Data {
				assert.True(t, math.IsNaN(v), "%v at %d", bad, j)
			}
		}
	}
}
