package digest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/quantise"
)

func codes(t *testing.T, add func(name string, v ...any)) {
	codesOf[float32](t, add)
	codesOf[float64](t, add)
}

// codesOf adds codes of all numbers of bits, with and without centres, and results of searches.
func codesOf[T dense.Float](t *testing.T, add func(name string, v ...any)) {
	const n, d = 90, 100
	// Rows lie about centres, and so do queries.
	centres, x, queries := points[T](1, 3, d), points[T](2, n, d), points[T](3, 5, d)
	for _, m := range []dense.Matrix[T]{x, queries} {
		for i := range m.Rows {
			for j, v := range m.Row(i) {
				m.Set(i, j, v/2+centres.At(i%3, j))
			}
		}
	}
	for _, bits := range []int{1, 2, 4, 8} {
		q, err := quantise.New[T](d, quantise.Options{Bits: float64(bits)}, rand.NewPCG(4, 5))
		require.NoError(t, err)
		around, err := q.WithCentres(centres)
		require.NoError(t, err)
		for i, q := range []quantise.Quantiser[T]{q, around} {
			codesOfQuantiser(t, fmt.Sprintf("%T %d%s ", T(0), bits, [...]string{"", " around"}[i]), q, x, queries, add)
		}
	}
}

func codesOfQuantiser[T dense.Float](t *testing.T, name string, q quantise.Quantiser[T], x, queries dense.Matrix[T], add func(name string, v ...any)) {
	c, err := q.Encode(t.Context(), x)
	require.NoError(t, err)
	n := c.Len()
	var file bytes.Buffer
	require.NoError(t, c.Write(&file))
	add(name+"file", file.Bytes())
	page, err := q.EncodeBytes(nil, x)
	require.NoError(t, err)
	add(name+"page", page)
	add(name+"decoded", c.Decode(dense.Matrix[T]{}, 0, c.Len()).Data)
	for by := quantise.InnerProduct; by <= quantise.SquaredDistance; by++ {
		var found []float64
		var listed, estimates []quantise.Estimate
		const miss = 0.01
		search := func(hits [][]quantise.Hit, queries dense.Matrix[T], o quantise.SearchOptions[T]) {
			prepared := make([]*quantise.Query, queries.Rows)
			for i := range prepared {
				prepared[i] = q.Prepare(nil, queries.Row(i), by, miss)
			}
			require.NoError(t, c.SearchAll(t.Context(), hits, prepared, o))
			for _, list := range hits {
				for _, hit := range list {
					found = append(found, float64(hit.ID), hit.Value, hit.StdErr, hit.Low, hit.High)
				}
			}
		}
		lists := func(n int) [][]quantise.Hit {
			hits := make([][]quantise.Hit, n)
			for i := range hits {
				hits[i] = make([]quantise.Hit, 12)
			}
			return hits
		}
		for i := range queries.Rows {
			search(lists(1), queries.RowRange(i, i+1), quantise.SearchOptions[T]{})
			query := q.Prepare(nil, queries.Row(i), by, miss)
			estimates = append(estimates, c.Estimates(make([]quantise.Estimate, n), query, nil)...)
			listed = append(listed, c.Estimates(make([]quantise.Estimate, 3), query, []int{70, 3, 70})...)
			for j, id := range []int{70, 3, 70} {
				require.Equal(t, estimates[i*n+id], listed[3*i+j])
			}
		}
		search(lists(queries.Rows), queries, quantise.SearchOptions[T]{Centres: 2})
		search(lists(queries.Rows), queries, quantise.SearchOptions[T]{Rows: quantise.RowsOf(x)})
		all := make([]float64, len(estimates))
		for i, e := range estimates {
			all[i] = e.Value
		}
		add(fmt.Sprintf("%smeasure %d", name, by), found, all)
	}
}

func statesInCodes(t *testing.T, add func(name string, v ...any)) {
	const d, n = 100, 200
	x := points[float64](6, n, d)
	for _, bits := range [][2]int{{4, 16}, {8, 4}, {16, 8}, {3, 3}} {
		e, err := performer.NewExact[float64](performer.ExactOptions{KeyBits: bits[0], ValueBits: bits[1]})
		require.NoError(t, err)
		s, err := e.NewState(d, d)
		require.NoError(t, err)
		s.Append(x, x)
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		add(fmt.Sprintf("codes of %d and %d bits", bits[0], bits[1]), data)
	}
}
