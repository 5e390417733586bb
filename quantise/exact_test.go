package quantise_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// exact returns the k best rows that keep accepts, by exact values.
func exact[T dense.Float](x dense.Matrix[T], query []T, by quantise.Measure, k int, keep func(id int) bool) []quantise.Hit {
	y := dense.Copy(dense.New[float64](1, x.Cols), dense.Of(1, x.Cols, query)).Row(0)
	all := make([]quantise.Hit, 0, x.Rows)
	for i := range x.Rows {
		row := dense.Copy(dense.New[float64](1, x.Cols), x.RowRange(i, i+1)).Row(0)
		value := floats.Dot(row, y)
		switch by {
		case quantise.Cosine:
			if value != 0 {
				value /= floats.Norm(row, 2) * floats.Norm(y, 2)
			}
		case quantise.SquaredDistance:
			value = math.Pow(floats.Distance(row, y, 2), 2)
		}
		if keep(i) {
			all = append(all, quantise.Hit{ID: i, Estimate: quantise.Estimate{Value: value}})
		}
	}
	sign := 1.0
	if by == quantise.SquaredDistance {
		sign = -1
	}
	slices.SortStableFunc(all, func(a, b quantise.Hit) int { return cmp.Compare(sign*b.Value, sign*a.Value) })
	return all[:min(k, len(all))]
}

// With a MissProbability that never happens, lists are those of the exact rows: of several
// segments, with filters, for rows that are hard.
func TestExactRows(t *testing.T) {
	testExactRows[float32](t)
	testExactRows[float64](t)
}

func testExactRows[T dense.Float](t *testing.T) {
	const n, d, k = 1200, 60, 8
	for name, change := range map[string]func(x, queries dense.Matrix[T]){
		"plain": func(_, _ dense.Matrix[T]) {},
		"scale": func(x, queries dense.Matrix[T]) {
			floatsScale(1e12, x.Data)
			floatsScale(1e-12, queries.Data)
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
				floatsScale(T(math.Exp(float64(i%40)/4-5)), x.Row(i))
			}
		},
		"zeros": func(x, queries dense.Matrix[T]) {
			for i := 0; i < x.Rows; i += 3 {
				clear(x.Row(i))
			}
			clear(queries.Row(0))
			floatsScale(-1, queries.Row(1))
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
		for _, bits := range []int{1, 2, 4, 8} {
			q, err := quantise.New[T](d, quantise.Options{Bits: bits}, rand.NewPCG(3, 4))
			require.NoError(t, err)
			starts := []int{0, 300, 301, n}
			var segments []quantise.Codes[T]
			var rows []dense.Matrix[T]
			for i := range starts[1:] {
				part := x.RowRange(starts[i], starts[i+1])
				c, err := q.Encode(t.Context(), part)
				require.NoError(t, err)
				segments, rows = append(segments, c), append(rows, part)
			}
			except, sets := make([]quantise.Bitmap, len(segments)), make([]quantise.Set, len(segments))
			for i := range except {
				except[i] = make(quantise.Bitmap, (n+63)/64)
				sets[i] = except[i]
				for id := 0; id < n; id += 5 {
					except[i].Set(id, true)
				}
			}
			read, looked := quantise.RowsOf(rows...), 0
			o := quantise.SearchOptions[T]{MissProbability: 1e-9, Except: sets, Rows: func(dst dense.Matrix[T], segment int, ids []int) error {
				assert.True(t, slices.IsSorted(ids))
				looked += len(ids)
				return read(dst, segment, ids)
			}}
			for _, by := range measures {
				hits := lists(queries.Rows, k)
				require.NoError(t, searchAll(segments[0].Quantiser(), t.Context(), hits, queries, by, o, segments...))
				for i := range hits {
					want := exact(x, queries.Row(i), by, k, func(id int) bool {
						segment := min(1, id/300) + min(1, id/301)
						return (id-starts[segment])%5 != 0
					})
					require.Len(t, hits[i], k)
					for j, hit := range hits[i] {
						what := fmt.Sprintf("%s, %d bits, measure %d, query %d, place %d", name, bits, by, i, j)
						require.Zero(t, hit.StdErr, what)
						require.InDelta(t, want[j].Value, hit.Value, 1e-9*math.Abs(want[j].Value), what)
						if name != "zeros" && name != "axes" { // no values that are equal
							require.Equal(t, want[j].ID, starts[hit.Segment]+hit.ID, what)
						}
					}
				}
			}
			if name == "plain" && bits > 2 {
				assert.Less(t, looked, n*queries.Rows*len(measures)/5, "%d bits", bits)
			}
		}
	}
}

func floatsScale[T dense.Float](c T, x []T) {
	for i := range x {
		x[i] *= c
	}
}
