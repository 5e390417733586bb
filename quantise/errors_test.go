package quantise_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/quantise"
)

// errorCase is rows, queries, and the number of rotations over which their errors count.
type errorCase struct {
	kind string // normal or sparse rows, of which some are queries; or queries near rows
	d    int
	rows int
	// The number of queries, and of queries near each row with this cosine.
	queries   int
	cosine    float64
	rotations int
}

// vectors returns rows of length 3 and queries of length 2. Sparse rows have one to three
// coordinates.
func vectors[T dense.Float](c errorCase) (x, queries dense.Matrix[T]) {
	r := rand.New(rand.NewPCG(7, uint64(c.d)))
	unit := func() []float64 {
		v := make([]float64, c.d)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		if c.kind == "sparse" {
			clear(v[1+r.IntN(3):])
			r.Shuffle(c.d, func(i, j int) { v[i], v[j] = v[j], v[i] })
		}
		floats.Scale(1/floats.Norm(v, 2), v)
		return v
	}
	add := func(m *dense.Matrix[T], length float64, v []float64) {
		for _, w := range v {
			m.Data = append(m.Data, T(length*w))
		}
		*m = dense.Of(m.Rows+1, c.d, m.Data)
	}
	for i := range c.rows {
		row := unit()
		add(&x, 3, row)
		if c.kind != "near" {
			if i < c.queries {
				add(&queries, 2, row)
			}
			continue
		}
		for range c.queries {
			v := unit()
			floats.AddScaled(v, -floats.Dot(v, row), row)
			floats.Scale(math.Sqrt(1-c.cosine*c.cosine)/floats.Norm(v, 2), v)
			floats.AddScaled(v, c.cosine, row)
			add(&queries, 2, v)
		}
	}
	return x, queries
}

// errorsOf returns the root mean square of errors over that of the standard errors, and the shares
// of bounds that fail. Errors of products are those of cosines.
func errorsOf[T dense.Float](t *testing.T, c errorCase, bits int, miss float64) (ratio, low, high float64) {
	x, queries := vectors[T](c)
	of := func(query int) (from, to int) {
		if c.kind == "near" {
			return query / c.queries, query/c.queries + 1
		}
		return 0, c.rows
	}
	cosines := kernels.Gram(dense.Matrix[float64]{}, kernels.DotProduct{}, dense.Copy(dense.Matrix[float64]{}, queries), dense.Copy(dense.Matrix[float64]{}, x))
	var squares, laws, count float64
	var query quantise.Query
	all, ids := make([]quantise.Estimate, x.Rows), make([]int, x.Rows)
	for i := range ids {
		ids[i] = i
	}
	q := newQuantiser[T](t, c.d, quantise.Options{Bits: float64(bits)})
	for seed := range uint64(c.rotations) {
		r, err := hadamard.NewRotation[T](c.d, hadamard.RotationOptions{}, rand.NewPCG(seed, 9))
		require.NoError(t, err)
		quantise.Rotate(q, r)
		codes := codesOf(t, q, x)
		for i := range queries.Rows {
			from, to := of(i)
			by := measures[(int(seed)+i)%3]
			for j, e := range codes.Estimates(all[from:to], q.Prepare(&query, queries.Row(i), by, miss), ids[from:to]) {
				cosine := cosines.At(i, from+j) / 6
				scale, want := [...]float64{6, 1, -12}[by], [...]float64{6 * cosine, cosine, 13 - 12*cosine}[by]
				// Only the rounding of a query that is the row has an effect. Sparse rows have
				// equal coordinates after a rotation, so their roundings are equal too.
				if cosine > 1-1e-6 {
					require.InDelta(t, want, e.Value, 12*e.StdErr, "%+v, %d bits", c, bits)
					continue
				}
				require.LessOrEqual(t, e.Low, e.High)
				squares += math.Pow((e.Value-want)/scale, 2)
				laws += math.Pow(e.StdErr/scale, 2)
				count++
				if want < e.Low {
					low++
				}
				if want > e.High {
					high++
				}
			}
		}
	}
	return math.Sqrt(squares / laws), low / count, high / count
}

// Errors have the root mean square of the standard errors, to 2 %, and bounds fail at most as often
// as asked: in 150,000 estimates of normal rows and of rows of one to three coordinates, by queries
// that are rows, and in 100,000 estimates of rows near a query. Estimates of one row by queries
// near it share the error of the code, and still deviate by less than 1 % together.
func TestBoundsAndErrors(t *testing.T) {
	const miss = 0.05
	for _, c := range []errorCase{
		{kind: "normal", d: 192, rows: 100, queries: 50, rotations: 30},
		{kind: "sparse", d: 192, rows: 100, queries: 50, rotations: 30},
		{kind: "near", d: 128, rows: 100, queries: 10, cosine: 0.7, rotations: 100},
	} {
		for _, bits := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s/bits=%d", c.kind, bits), func(t *testing.T) {
				t.Parallel()
				c, tolerance := c, 0.02
				if testing.Short() {
					c.rotations, tolerance = c.rotations/20, 0.06
				}
				of := errorsOf[float64]
				if bits == 1 || bits == 4 {
					of = errorsOf[float32]
				}
				ratio, low, high := of(t, c, bits, miss)
				assert.InDelta(t, 1, ratio, tolerance)
				assert.LessOrEqual(t, max(low, high), miss)
				assert.Greater(t, low+high, miss/4, "bounds that are too wide")
			})
		}
	}
}

// Bounds hold for queries that are rows, whose values are those of the norms and their roundings.
func testBoundsOfRows[T dense.Float](t *testing.T) {
	const n, d, miss = 400, 96, 0.01
	for _, mean := range []float64{0, 10} {
		x := densetest.Normal[T](rand.New(rand.NewPCG(1, 2)), n, d, mean, 1)
		for _, bits := range []int{1, 8} {
			c := encode(t, x, quantise.Options{Bits: float64(bits)})
			for _, by := range measures {
				outside := 0
				for i := range n {
					row := doubles(x.Row(i))
					e, want := c.Estimates(make([]quantise.Estimate, 1), c.Quantiser().Prepare(nil, x.Row(i), by, miss), []int{i})[0], truth(by, row, row)
					if want < e.Low || want > e.High {
						outside++
					}
					require.InDelta(t, want, e.High, 20*e.StdErr)
				}
				assert.LessOrEqual(t, float64(outside), 2*miss*n, "mean %v, %d bits, measure %d", mean, bits, by)
			}
		}
	}
}

func TestBoundsOfRows(t *testing.T) {
	densetest.Both(t, testBoundsOfRows[float32], testBoundsOfRows[float64])
}
