package index_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
	"github.com/seed-feabd252/randfeat/safetensors"
)

func TestErrors(t *testing.T) {
	src, ctx := rand.NewPCG(1, 2), t.Context()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	made := func(d int, o index.Options[float32], src rand.Source) error {
		_, err := index.New[string](d, o, src)
		return err
	}
	x := must.Have(index.New[string](2, index.Options[float32]{}, src))
	require.NoError(t, x.Add(ctx, []string{"a", "b", "c"}, dense.Of(3, 2, []float32{1, 2, 3, 4, 0, 0})))
	put := func(id string, row ...float32) error {
		return x.Put(ctx, []string{"d", id}, dense.Of(2, 2, append(row, 1, 1, 1)[:4]))
	}
	search := func(k int, o *index.SearchOptions[string, float32], query ...float32) error {
		_, err := x.Search(ctx, query, k, o)
		_, other := x.Within(ctx, query, 0, o)
		if k >= 0 {
			assert.Equal(t, err, other)
		}
		return err
	}
	type options = index.SearchOptions[string, float32]
	_, within := x.Within(ctx, []float32{1, 1}, math.NaN(), nil)
	few, fits := must.Have(quantise.New[float32](3, quantise.Options{}, src)), must.Have(quantise.New[float32](2, quantise.Options{}, src))
	for want, err := range map[string]error{
		"src is nil":                                                     made(2, index.Options[float32]{}, nil),
		"quantise: d = 0, want at least 1":                               made(0, index.Options[float32]{}, src),
		"Measure = 3, want one of the constants":                         made(2, index.Options[float32]{Measure: 3}, src),
		"Bits = NaN, want from 1/8 to 8, or 0 for 4":                     made(2, index.Options[float32]{Bits: math.NaN()}, src),
		"Bits = 2 with a Quantiser, want 0":                              made(2, index.Options[float32]{Bits: 2, Quantiser: fits}, src),
		"Quantiser is for rows of R^3, want R^2":                         made(2, index.Options[float32]{Quantiser: few}, src),
		`2 ids for 1 rows`:                                               x.Add(ctx, []string{"x", "y"}, dense.New[float32](1, 2)),
		`rows are 1×3, want n×2`:                                         x.Add(ctx, []string{"x"}, dense.New[float32](1, 3)),
		`id "b" is in the index`:                                         x.Add(ctx, []string{"x", "b"}, dense.New[float32](2, 2)),
		`id "x" is twice in ids`:                                         x.Put(ctx, []string{"x", "x"}, dense.New[float32](2, 2)),
		`the row of id "d" holds NaN or ±Inf, or has a norm above 1e150`: put("e", 1, nan),
		`the row of id "e" holds NaN or ±Inf, or has a norm above 1e150`: put("e", 1, 1, inf),
		`the row of id "e\xff" has the norm 1.01e+38, want 0 or from 2⁻⁹⁹ to 2⁹⁹`: put("e\xff", 1, 1, 1.01e38, 0),
		`the row of id "e" has the norm 1e-40, want 0 or from 2⁻⁹⁹ to 2⁹⁹`:        put("e", 1, 1, 1e-40, 0),
		"k = -1, want at least 0":                                search(-1, nil, 1, 1),
		"the query has 1 numbers, want 2":                        search(1, nil, 1),
		"the query holds NaN or ±Inf, or has a norm above 1e150": search(1, nil, nan, 1),
		"Miss = 1, want a probability below 1, or 0 for 0.001":   search(1, &options{Miss: 1}, 1, 1),
		"quantise: limit is NaN":                                 within,
		"w is nil":                                               x.Write(nil),
	} {
		assert.EqualError(t, err, "index: "+want)
	}
	_, err := index.Read[string, float32](nil)
	assert.EqualError(t, err, "index: r is nil")
	assert.Equal(t, 3, x.Len())
	assert.False(t, x.Contains("d"), "of calls that returned errors")
	assert.Zero(t, x.Delete("d", "e", "\x00"))
	hits := must.Have(x.Search(ctx, []float32{0, 1}, 9, nil))
	assert.Equal(t, []string{"b", "a", "c"}, []string{hits[0].ID, hits[1].ID, hits[2].ID})
	assert.Equal(t, []float64{4, 2, 0}, []float64{hits[0].Value, hits[1].Value, hits[2].Value})
}

// Without rows, bounds contain the true values with the stated probability, and Within finds the
// rows that reach the limit.
func TestBounds(t *testing.T) {
	const n, queries, miss = 1500, 40, 0.02
	for by := quantise.InnerProduct; by <= quantise.SquaredDistance; by++ {
		for _, bits := range []float64{1, 2, 4} {
			m := newModel(t, index.Options[float32]{Measure: by, Bits: bits}, func(i int) int64 { return int64(i) })
			if by == quantise.SquaredDistance && bits == 2 {
				m.mean = 1000
			}
			ids, rows := m.draw(n, n)
			require.NoError(t, m.x.Add(t.Context(), ids, rows))
			m.keep(ids, rows)
			missed, all := 0, 0
			for range queries {
				query := m.row()
				want := m.sorted(query, nil)
				limit, found := (want[50].Value+want[51].Value)/2, map[int64]index.Hit[int64]{}
				hits := must.Have(m.x.Within(t.Context(), query, limit, &index.SearchOptions[int64, float32]{Miss: miss}))
				for _, hit := range hits {
					found[hit.ID] = hit
				}
				for _, hit := range want[:51] {
					if _, ok := found[hit.ID]; !ok {
						missed++
					}
					all++
				}
				best := must.Have(m.x.Search(t.Context(), query, 5, &index.SearchOptions[int64, float32]{Miss: miss}))
				for i := range best {
					assert.Positive(t, best[i].StdErr)
					assert.Less(t, best[i].Low, best[i].High)
				}
				assert.Less(t, len(hits), n/2, "of %d", n)
			}
			rate := float64(missed) / float64(all)
			assert.LessOrEqual(t, rate, miss+4*math.Sqrt(miss/float64(all)), "measure %d, %v bits", by, bits)
		}
	}
}

// fileOf returns the file of an index of few rows.
func fileOf[K index.ID](t *testing.T, o index.Options[float32], ids ...K) []byte {
	x := must.Have(index.New[K](2, o, rand.NewPCG(1, 2)))
	rows := dense.New[float32](len(ids), 2)
	for i := range rows.Data {
		rows.Data[i] = float32(i)
	}
	require.NoError(t, x.Add(t.Context(), ids, rows))
	var file bytes.Buffer
	require.NoError(t, x.Write(&file))
	return file.Bytes()
}

func TestDamagedFiles(t *testing.T) {
	texts, numbers := fileOf(t, index.Options[float32]{}, "", "a", "\xff\x00"), fileOf[int64](t, index.Options[float32]{KeepRows: true, Bits: 1}, -1, 0, 1, math.MaxInt64, math.MinInt64, 5, 6, 7, 8)
	x := must.Have(index.Read[string, float32](bytes.NewReader(texts)))
	assert.True(t, x.Contains("") && x.Contains("a") && x.Contains("\xff\x00"))
	assert.True(t, must.Have(index.Read[int64, float32](bytes.NewReader(numbers))).Contains(math.MinInt64))
	for n := range texts {
		_, err := index.Read[string, float32](bytes.NewReader(texts[:n]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut at %d", n)
	}
	words := func(values ...byte) safetensors.Tensor {
		data := make([]byte, 8*len(values))
		for i, v := range values {
			data[8*i] = v
		}
		return safetensors.Tensor{DType: safetensors.U64, Shape: []int{len(values)}, Data: data}
	}
	for i, c := range []struct {
		want   string
		change func(f *safetensors.File)
	}{
		{"ids of 2 bytes, want 3", func(f *safetensors.File) { f.Tensors["index.ends"] = words(0, 1, 2) }},
		{"id 2 has the bytes [1, 0) of 3", func(f *safetensors.File) { f.Tensors["index.ends"] = words(0, 1, 0) }},
		{"1 of 3 ids are twice in the file", func(f *safetensors.File) { f.Tensors["index.ends"] = words(0, 0, 3) }},
		{"3 codes and 3×2 rows for 2 ids, want 2×2", func(f *safetensors.File) { f.Tensors["index.ends"] = words(0, 3) }},
		{"a seed of 1 words, want 2", func(f *safetensors.File) { f.Tensors["index.seed"] = words(1) }},
		{"Measure = 7, want one of the constants", func(f *safetensors.File) { f.Metadata["index.measure"] = "7" }},
		{"Bits = 9, want from 1/8 to 8, or 0 for 4", func(f *safetensors.File) { f.Metadata["index.bits"] = "9" }},
		{"no Bits and no Quantiser", func(f *safetensors.File) { f.Metadata["index.bits"] = "0" }},
		{"3 codes and 3×2 rows for 3 ids, want 0×2", func(f *safetensors.File) { f.Metadata["index.learnt"] = "true" }},
		{"3 codes and 3×3 rows for 3 ids, want 3×2", func(f *safetensors.File) {
			f.Tensors["index.rows"] = must.Have(safetensors.FromFloats([]int{3, 3}, make([]float32, 9)))
		}},
		{`the row of id "" holds NaN or ±Inf, or has a norm above 1e150`, func(f *safetensors.File) {
			f.Tensors["index.rows"].Data[2], f.Tensors["index.rows"].Data[3] = 0xc0, 0x7f
		}},
		{"quantise: safetensors: header \"\", want it to start with '{'", func(f *safetensors.File) { clear(f.Tensors["index.codes"].Data[:8]) }},
	} {
		_, err := index.Read[string, float32](bytes.NewReader(must.Have(archive.Changed(texts, c.change))))
		assert.EqualError(t, err, "index: "+c.want, fmt.Sprint(i))
	}
	for _, err := range []error{
		second(index.Read[int64, float32](bytes.NewReader(texts))), second(index.Read[string, float32](bytes.NewReader(numbers))),
	} {
		assert.ErrorContains(t, err, "index: the ids are of another type than ")
	}
	full := errors.New("full")
	assert.ErrorIs(t, x.Write(writer{full}), full)
}

func second[V any](_ V, err error) error { return err }

type writer struct{ err error }

func (w writer) Write([]byte) (int, error) { return 0, w.err }

// Rows of one number, rows that are equal and rows of zeros are found as other rows are, before and
// after the index has learnt, and limits that no row or every row reaches are limits.
func TestExtremes(t *testing.T) {
	const n = 40
	ctx, inf := t.Context(), math.Inf(1)
	ids := []int64{math.MinInt64, math.MaxInt64, 0, -1}
	for i := len(ids); i < n; i++ {
		ids = append(ids, int64(i))
	}
	for name, fill := range map[string]func(i, j int) float64{
		"numbers": func(i, j int) float64 { return math.Pow(-1.5, float64(i%7)) * float64(1+j) },
		"equal":   func(_, j int) float64 { return 1e20 * float64(1+j) },
		"large":   func(i, j int) float64 { return 1e25 * float64(1+(i+j)%3) },
		"zeros":   func(i, _ int) float64 { return float64(i / 30) },
	} {
		for d := 1; d <= 3; d++ {
			rows, query := dense.New[float64](n, d), make([]float64, d)
			for i := range n {
				for j := range d {
					rows.Set(i, j, fill(i, j))
				}
			}
			query[d-1] = rows.At(5, d-1) + 1
			for by := quantise.InnerProduct; by <= quantise.SquaredDistance; by++ {
				for _, bits := range []float64{0.5, 4}[d%2:] {
					what := fmt.Sprint(name, ", d = ", d, ", measure ", by, ", bits ", bits)
					x := must.Have(index.New[int64](d, index.Options[float64]{Measure: by, Bits: bits}, rand.NewPCG(1, 2)))
					kept := map[int64]int{}
					exact := &index.SearchOptions[int64, float64]{Rows: func(dst dense.Matrix[float64], ids []int64) error {
						for i, id := range ids {
							copy(dst.Row(i), rows.Row(kept[id]))
						}
						return nil
					}}
					within := func(limit float64, o *index.SearchOptions[int64, float64]) int {
						return len(must.Have(x.Within(ctx, query, limit, o)))
					}
					all, none := inf, -1.
					if by != quantise.SquaredDistance {
						all, none = -inf, inf
					}
					for _, to := range []int{0, 2, n} {
						for i := len(kept); i < to; i++ {
							require.NoError(t, x.Add(ctx, ids[i:i+1], rows.RowRange(i, i+1)), what)
							kept[ids[i]] = i
						}
						hits := must.Have(x.Search(ctx, query, math.MaxInt, exact))
						require.Len(t, hits, to, what)
						for i, hit := range hits {
							want := truth(by, rows.Row(kept[hit.ID]), query)
							require.InDelta(t, want, hit.Value, 1e-9*(1+math.Abs(want)), what)
							require.False(t, i > 0 && (hits[i-1].Value-hit.Value)*[]float64{1, 1, -1}[by] < 0, what)
						}
						for _, hit := range must.Have(x.Search(ctx, query, to, nil)) {
							require.False(t, math.IsNaN(hit.Value+hit.StdErr+hit.Low+hit.High), "%s: %+v", what, hit)
						}
						require.Equal(t, []int{to, to, 0, 0}, []int{within(all, nil), within(all, exact), within(none, nil), within(none, exact)}, what)
						nothing := &index.SearchOptions[int64, float64]{Accept: func(int64) bool { return false }}
						require.Empty(t, must.Have(x.Search(ctx, query, 3, nothing)), what)
						require.Zero(t, within(all, nothing), what)
					}
					if by == quantise.SquaredDistance && name == "zeros" {
						require.GreaterOrEqual(t, within(truth(by, make([]float64, d), query), nil), 30, "%s: an exact value on the limit", what)
					}
					require.Equal(t, n, x.Delete(ids...), what)
					require.Empty(t, must.Have(x.Search(ctx, query, 9, nil)), what)
				}
			}
		}
	}
}

func truth[T dense.Float](by quantise.Measure, x, y []T) float64 {
	var xy, xx, yy, distance float64
	for j, v := range x {
		a, b := float64(v), float64(y[j])
		xy, xx, yy, distance = xy+a*b, xx+a*a, yy+b*b, distance+(a-b)*(a-b)
	}
	switch {
	case by == quantise.InnerProduct:
		return xy
	case by == quantise.SquaredDistance:
		return distance
	case xx*yy == 0:
		return 0
	}
	return xy / math.Sqrt(xx) / math.Sqrt(yy)
}
