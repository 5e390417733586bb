package quantise_test

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

var measures = []quantise.Measure{quantise.InnerProduct, quantise.Cosine, quantise.SquaredDistance}

// options are those with so many bits.
func options(bits ...float64) (all []quantise.Options) {
	for _, b := range bits {
		all = append(all, quantise.Options{Bits: b})
	}
	return all
}

// random returns rows of normal variates of different lengths.
func random[T dense.Float](n, d int, seed uint64) dense.Matrix[T] {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := dense.New[T](n, d)
	for i := range n {
		length := math.Exp(rng.NormFloat64())
		for j := range d {
			x.Set(i, j, T(length*rng.NormFloat64()))
		}
	}
	return x
}

// clusters returns rows about centres, all at a mean of the given size.
func clusters[T dense.Float](n, d, k int, mean, spread float64, seed uint64) (rows, centres dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(seed, 7))
	centres, rows = dense.New[T](k, d), dense.New[T](n, d)
	for i := range centres.Data {
		centres.Data[i] = T(mean + rng.NormFloat64())
	}
	for i := range n {
		centre := centres.Row(rng.IntN(k))
		for j := range d {
			rows.Set(i, j, T(float64(centre[j])+spread*rng.NormFloat64()))
		}
	}
	return rows, centres
}

func doubles[T dense.Float](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func newQuantiser[T dense.Float](t testing.TB, d int, o quantise.Options) quantise.Quantiser[T] {
	t.Helper()
	q, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	return q
}

// around returns a quantiser with centres.
func around[T dense.Float](t testing.TB, o quantise.Options, centres dense.Matrix[T]) quantise.Quantiser[T] {
	t.Helper()
	q, err := newQuantiser[T](t, centres.Cols, o).WithCentres(centres)
	require.NoError(t, err)
	return q
}

// bothKinds calls f with quantisers of all numbers of bits, without and with centres, and rows near
// centres.
func bothKinds[T dense.Float](t *testing.T, n, d int, f func(q quantise.Quantiser[T], x dense.Matrix[T])) {
	x, centres := clusters[T](n, d, 5, 10, 0.5, 1) // near to one centre q − tc is rounded by itself
	for _, o := range options(1, 2, 4, 8) {
		f(newQuantiser[T](t, d, o), x)
		f(around(t, o, centres), x)
	}
}

func codesOf[T dense.Float](t testing.TB, q quantise.Quantiser[T], x dense.Matrix[T]) quantise.Codes[T] {
	t.Helper()
	c, err := q.Encode(t.Context(), x)
	require.NoError(t, err)
	return c
}

func encode[T dense.Float](t testing.TB, x dense.Matrix[T], o quantise.Options) quantise.Codes[T] {
	t.Helper()
	return codesOf(t, newQuantiser[T](t, x.Cols, o), x)
}

func fileOf[T dense.Float](t testing.TB, c quantise.Codes[T]) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	return b.Bytes()
}

// aligned returns the bytes at the beginning of a word, or so many bytes beyond it.
func aligned(data []byte, beyond int) []byte {
	words := make([]uint64, len(data)/8+2)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[beyond:][:len(data)]
	copy(b, data)
	return b
}

// pageOf returns the bytes of rows, at an address that is no multiple of 8.
func pageOf[T dense.Float](t testing.TB, q quantise.Quantiser[T], x dense.Matrix[T]) []byte {
	t.Helper()
	page, err := q.EncodeBytes(nil, x)
	require.NoError(t, err)
	return aligned(page, 3)
}

// search prepares a query and searches codes.
func search[T dense.Float](c quantise.Codes[T], dst []quantise.Hit, query []T, by quantise.Measure) []quantise.Hit {
	return c.Search(dst, c.Quantiser().Prepare(nil, query, by, 0))
}

// searchAll prepares queries and searches codes with options.
func searchAll[T dense.Float](c quantise.Codes[T], ctx context.Context, hits [][]quantise.Hit, queries dense.Matrix[T], by quantise.Measure, miss float64, o quantise.SearchOptions[T]) error {
	prepared := make([]*quantise.Query, queries.Rows)
	for i := range prepared {
		prepared[i] = c.Quantiser().Prepare(nil, queries.Row(i), by, miss)
	}
	return c.SearchAll(ctx, hits, prepared, o)
}

// lists returns m lists for k rows.
func lists(m, k int) [][]quantise.Hit {
	hits := make([][]quantise.Hit, m)
	for i := range hits {
		hits[i] = make([]quantise.Hit, k)
	}
	return hits
}

// setOf returns the set of the rows below n that keep accepts.
func setOf(n int, keep func(id int) bool) []uint64 {
	set := make([]uint64, (n+63)/64)
	for id := range n {
		if keep(id) {
			set[id/64] |= 1 << (id % 64)
		}
	}
	return set
}

// estimates prepares a query and returns the values of the estimates of the first rows, all for a
// nil dst.
func estimates[T dense.Float](c quantise.Codes[T], dst []float64, query []T, by quantise.Measure) []float64 {
	if dst == nil {
		dst = make([]float64, c.Len())
	}
	for i, e := range c.Estimates(make([]quantise.Estimate, len(dst)), c.Quantiser().Prepare(nil, query, by, 0), nil) {
		dst[i] = e.Value
	}
	return dst
}

// sorted sorts hits, best first.
func sorted(hits []quantise.Hit, by quantise.Measure) []quantise.Hit {
	sign := 1.0
	if by == quantise.SquaredDistance {
		sign = -1
	}
	slices.SortFunc(hits, func(a, b quantise.Hit) int {
		return cmp.Or(cmp.Compare(sign*b.Value, sign*a.Value), cmp.Compare(a.ID, b.ID))
	})
	return hits
}

// ranked returns all rows by their estimates.
func ranked[T dense.Float](c quantise.Codes[T], query []T, by quantise.Measure) []quantise.Hit {
	all := make([]quantise.Hit, c.Len())
	for i, v := range estimates(c, nil, query, by) {
		all[i] = quantise.Hit{ID: i, Estimate: quantise.Estimate{Value: v}}
	}
	return sorted(all, by)
}

// truth returns the measure itself, and 0 for the cosine of 0.
func truth(by quantise.Measure, x, y []float64) float64 {
	switch by {
	case quantise.InnerProduct:
		return floats.Dot(x, y)
	case quantise.Cosine:
		if product := floats.Dot(x, y); product != 0 {
			return product / (floats.Norm(x, 2) * floats.Norm(y, 2))
		}
		return 0
	}
	return math.Pow(floats.Distance(x, y, 2), 2)
}

// exact returns the k best rows that keep accepts, by exact values.
func exact[T dense.Float](x dense.Matrix[T], query []T, by quantise.Measure, k int, keep func(id int) bool) []quantise.Hit {
	var all []quantise.Hit
	for i := range x.Rows {
		if keep == nil || keep(i) {
			all = append(all, quantise.Hit{ID: i, Estimate: quantise.Estimate{Value: truth(by, doubles(x.Row(i)), doubles(query))}})
		}
	}
	return sorted(all, by)[:min(k, len(all))]
}

// sameCodes compares everything that codes answer.
func sameCodes[T dense.Float](t *testing.T, want, got quantise.Codes[T], query []T, what string) {
	t.Helper()
	n, q := want.Len(), want.Quantiser()
	require.Equal(t, n, got.Len(), what)
	assert.Equal(t, want.Bytes(), got.Bytes(), what)
	odd, ids := setOf(n, func(id int) bool { return id%2 == 1 }), make([]int, n)
	for i := range ids {
		ids[i] = n - 1 - i
	}
	for _, by := range measures {
		prepared := q.Prepare(nil, query, by, 0)
		answers := func(c quantise.Codes[T]) (all []quantise.Estimate, found [][]quantise.Hit) {
			all = append(c.Estimates(make([]quantise.Estimate, n), prepared, nil), c.Estimates(make([]quantise.Estimate, n), prepared, ids)...)
			found = [][]quantise.Hit{c.Search(make([]quantise.Hit, 5), prepared)}
			for _, o := range []quantise.SearchOptions[T]{{}, {Only: odd}, {Except: odd}, {Centres: 1}} {
				some := [][]quantise.Hit{make([]quantise.Hit, 5), make([]quantise.Hit, 9)}
				require.NoError(t, c.SearchAll(t.Context(), some, []*quantise.Query{prepared, prepared}, o), what)
				found = append(found, some...)
			}
			return all, found
		}
		wantAll, wantLists := answers(want)
		gotAll, gotLists := answers(got)
		assert.Equal(t, wantAll, gotAll, what)
		assert.Equal(t, wantLists, gotLists, what)
	}
	assert.Equal(t, want.Decode(dense.Matrix[T]{}, 0, n), got.Decode(dense.Matrix[T]{}, 0, n), what)
	file := fileOf(t, want)
	assert.Equal(t, file, fileOf(t, got), what)
	moved := codesOf(t, q, dense.New[T](0, len(query)))
	require.NoError(t, moved.AppendRows(got, nil), what)
	assert.Equal(t, file, fileOf(t, moved), what)
}
