package quantise_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// With a miss probability that never happens, lists are those of the exact rows, with filters, for
// rows that are hard.
func TestExactRows(t *testing.T) { densetest.Both(t, testExactRows[float32], testExactRows[float64]) }

func testExactRows[T dense.Float](t *testing.T) {
	const n, d, k = 500, 60, 8
	for name, change := range map[string]func(x, queries dense.Matrix[T]){
		"plain": func(_, _ dense.Matrix[T]) {},
		"scale": func(x, queries dense.Matrix[T]) {
			scaleBy(1e12, x.Data)
			scaleBy(1e-12, queries.Data)
		},
		"mean": func(x, queries dense.Matrix[T]) { // all cosines are nearly 1
			for _, m := range []dense.Matrix[T]{x, queries} {
				for i := range m.Data {
					m.Data[i] += 30
				}
			}
		},
		"lengths": func(x, _ dense.Matrix[T]) {
			for i := range x.Rows {
				scaleBy(T(math.Exp(float64(i%40)/4-5)), x.Row(i))
			}
		},
		"zeros": func(x, queries dense.Matrix[T]) {
			for i := 0; i < x.Rows; i += 3 {
				clear(x.Row(i))
			}
			clear(queries.Row(0))
			scaleBy(-1, queries.Row(1))
		},
		"axes": func(x, queries dense.Matrix[T]) { // few coordinates
			clear(x.Data)
			for i := range x.Rows {
				x.Set(i, i%d, T(1+i))
				x.Set(i, (7*i+3)%d, T(2*i))
			}
			clear(queries.Data)
			for i := range queries.Rows {
				queries.Set(i, i, 2)
				queries.Set(i, i+1, 1)
			}
		},
	} {
		x, queries := random[T](n, d, 1), random[T](5, d, 2)
		change(x, queries)
		except := setOf(n, func(id int) bool { return id%5 == 0 })
		for _, bits := range []int{1, 2, 4, 8} {
			if (bits == 2 || bits == 4) && name != "plain" && name != "axes" {
				continue
			}
			o, miss := quantise.Options{Bits: float64(bits)}, 1e-9
			if bits == 1 {
				miss = 1e-30 // below the spacing of numbers near 1
			}
			for about, q := range []quantise.Quantiser[T]{newQuantiser[T](t, d, o), around(t, o, x.RowRange(1, 4))} {
				c, read, looked := codesOf(t, q, x), quantise.RowsOf(x), 0
				o := quantise.SearchOptions[T]{Except: except, Rows: func(dst dense.Matrix[T], ids []int) error {
					assert.True(t, slices.IsSorted(ids))
					looked += len(ids)
					return read(dst, ids)
				}}
				for _, by := range measures {
					hits := lists(queries.Rows, k)
					require.NoError(t, searchAll(c, t.Context(), hits, queries, by, miss, o))
					for i := range hits {
						want := exact(x, queries.Row(i), by, k, func(id int) bool { return id%5 != 0 })
						require.Len(t, hits[i], k)
						for j, hit := range hits[i] {
							what := fmt.Sprintf("%s, %d bits, centres %v, measure %d, query %d, place %d", name, bits, about > 0, by, i, j)
							require.Zero(t, hit.StdErr, what)
							require.InDelta(t, want[j].Value, hit.Value, 1e-9*math.Abs(want[j].Value), what)
							if name != "zeros" && name != "axes" { // no values that are equal
								require.Equal(t, want[j].ID, hit.ID, what)
							}
						}
					}
				}
				if name == "plain" && bits > 2 {
					assert.Less(t, looked, n*queries.Rows*len(measures)/5, "%d bits", bits)
				}
				if name == "mean" && about > 0 {
					assert.Less(t, looked, n*queries.Rows*len(measures)/2, "%d bits", bits)
				}
			}
		}
	}
}

// Exact cosines are in [−1, 1]: arccos is no NaN. A row has the cosine 1 with itself, and −1 with
// its negative.
func testExactCosines[T dense.Float](t *testing.T) {
	const n, d = 100, 48
	rng := rand.New(rand.NewPCG(1, 2))
	x := dense.New[T](3*n, d)
	for i := range n {
		for j := range d {
			v := T(rng.NormFloat64())
			for k, factor := range []T{1, -1, 3} {
				x.Set(k*n+i, j, factor*v)
			}
		}
	}
	hits := lists(n, x.Rows)
	require.NoError(t, searchAll(encode(t, x, quantise.Options{}), t.Context(), hits, x.RowRange(0, n), quantise.Cosine, 0, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)}))
	for i, list := range hits {
		for _, hit := range list {
			switch hit.ID {
			case i:
				assert.Equal(t, 1.0, hit.Value)
			case n + i:
				assert.Equal(t, -1.0, hit.Value)
			case 2*n + i:
				assert.InDelta(t, 1, hit.Value, d*densetest.Roundoff[T]())
			}
			assert.LessOrEqual(t, hit.Value, 1.0)
			assert.GreaterOrEqual(t, hit.Value, -1.0)
		}
	}
}

func TestExactCosines(t *testing.T) {
	densetest.Both(t, testExactCosines[float32], testExactCosines[float64])
}
