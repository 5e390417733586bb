package quantise_test

import (
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/quantise"
)

// pageOf returns the bytes of rows, at an address that is no multiple of 8.
func pageOf[T dense.Float](t *testing.T, q quantise.Quantiser[T], x dense.Matrix[T]) []byte {
	t.Helper()
	page := aligned(make([]byte, x.Rows*q.RowBytes()+3), 0)[3:]
	require.NoError(t, q.EncodeBytes(page, x))
	return page
}

// bothKinds calls f with quantisers of all schemes, without and with centres, and rows near centres.
func bothKinds[T dense.Float](t *testing.T, n, d int, f func(q quantise.Quantiser[T], x dense.Matrix[T])) {
	x, centres := clusters[T](n, d, 5, 3, 0.5, 1)
	for _, o := range lawOptions(1, 2, 4, 8) {
		q, err := quantise.New[T](d, o, rand.NewPCG(1, 2))
		require.NoError(t, err)
		f(q, x)
		centred, err := q.WithCentres(centres)
		require.NoError(t, err)
		f(centred, x)
	}
}

func testBytesAreCodes[T dense.Float](t *testing.T) {
	const n, d = 130, 100
	bothKinds(t, n, d, func(q quantise.Quantiser[T], x dense.Matrix[T]) {
		c, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		page := pageOf(t, q, x)
		for _, by := range measures {
			query := q.Prepare(nil, x.Row(7), by, 0)
			want, got := c.Estimates(make([]quantise.Estimate, n), query, 0), make([]quantise.Estimate, n)
			require.NoError(t, q.EstimateBytes(got, query, page))
			require.Equal(t, want, got, "%v, measure %d", q.Options(), by)
			ids := []int{129, 0, 64, 64, 63}
			for i, e := range c.EstimateRows(make([]quantise.Estimate, len(ids)), query, ids) {
				require.Equal(t, want[ids[i]], e)
			}
			require.Equal(t, want[60:], c.Estimates(make([]quantise.Estimate, n-60), query, 60))
		}
	})
}

// Bytes have the codes and the estimates of Codes.
func TestBytesAreCodes(t *testing.T) {
	densetest.Both(t, testBytesAreCodes[float32], testBytesAreCodes[float64])
}

var updateRows = flag.Bool("update-rows", false, "write the golden rows")

// Rows of later versions and of other platforms have the bytes of testdata.
//
//ci:portable
func TestGoldenRows(t *testing.T) {
	x := dense.New[float32](2, 100)
	for i := range x.Data {
		x.Data[i] = float32((i*i*7919+i*104729)%2047-1023) / 1024
	}
	var all []byte
	for _, o := range lawOptions(1, 2, 4, 8) {
		q, err := quantise.New[float32](100, o, rand.NewPCG(1, 2))
		require.NoError(t, err)
		all = append(all, pageOf(t, q, x)...)
		centred, err := q.WithCentres(x.RowRange(1, 2))
		require.NoError(t, err)
		all = append(all, pageOf(t, centred, x)...)
	}
	const file = "testdata/rows.golden"
	if *updateRows {
		require.NoError(t, os.WriteFile(file, all, 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, want, all)
}

// Another program reads rows as the comment of EncodeBytes says.
func TestBytesAreAsDocumented(t *testing.T) {
	const d = 200
	x := random[float64](2, d, 3)
	for _, bits := range []int{1, 2, 4, 8} {
		r, err := hadamard.NewRotation[float64](d, hadamard.RotationOptions{}, rand.NewPCG(5, 6))
		require.NoError(t, err)
		q, err := quantise.NewRotated(quantise.Options{Bits: bits}, quantise.Rotation[float64](r))
		require.NoError(t, err)
		row, p := pageOf(t, q, x.RowRange(0, 1)), r.Apply(dense.Matrix[float64]{}, x.RowRange(1, 2)).Row(0)
		_, rotated := q.Dims()
		words, sum := (rotated*bits+63)/64, 0.0
		for element, first := 0, 0; first < words; first += 8 {
			lanes := 2 * min(8, words-first)
			for j := range 32 / bits {
				for l := range lanes {
					lane := binary.LittleEndian.Uint32(row[8*first+4*l:])
					code := lane >> (j * bits) & (1<<bits - 1)
					if at := element + j*lanes + l; at < rotated {
						sum += float64(2*int(code)+1-1<<bits) * p[at]
					} else {
						assert.Zero(t, code)
					}
				}
			}
			element += lanes * 32 / bits
		}
		number := func(i int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(row[8*words+4*i:])))
		}
		got := make([]quantise.Estimate, 1)
		require.NoError(t, q.EstimateBytes(got, q.Prepare(nil, x.Row(1), quantise.InnerProduct, 0), row))
		assert.InDelta(t, number(0)*number(1)*sum, got[0].Value, map[bool]float64{true: 0.2, false: 0.05}[bits <= 2]*got[0].StdErr+1e-6, "%d bits", bits)
		assert.Len(t, row, 8*words+map[bool]int{true: 8, false: 12}[bits == 1])
	}
}

func TestBytesErrors(t *testing.T) {
	x, centres := clusters[float32](3, 8, 2, 1, 0.1, 1)
	q := around(t, quantise.Options{}, centres)
	page, query, dst := pageOf(t, q, x), q.Prepare(nil, x.Row(0), quantise.Cosine, 0), make([]quantise.Estimate, 3)
	size := q.RowBytes()
	assert.Equal(t, 8+5*4+4, size)
	with := func(at int, v uint32) []byte {
		data := slices.Clone(page)
		binary.LittleEndian.PutUint32(data[at:], v)
		return data
	}
	nan := math.Float32bits(float32(math.NaN()))
	for want, bad := range map[string][]byte{
		"quantise: page has 95 bytes, want 3 rows of 32": page[:95],
		"quantise: page has 64 bytes, want 3 rows of 32": page[:64],
		"quantise: row 1 has the norm NaN":               with(size+8, nan),
		"quantise: row 2 has the product NaN":            with(2*size+20, nan),
		"quantise: row 0 has centre 7 of 2":              with(size-4, 7),
	} {
		assert.EqualError(t, q.EstimateBytes(dst, query, bad), want)
	}
	assert.EqualError(t, q.EncodeBytes(page[:95], x), "quantise: dst has 95 bytes, want 3 rows of 32")
	x.Set(2, 1, float32(math.NaN()))
	assert.EqualError(t, q.EncodeBytes(page, x), "quantise: row 2 holds NaN or ±Inf, or has a norm above 1e150")
	assert.EqualError(t, q.EstimateBytes(dst, new(quantise.Query), page), "quantise: the query is not prepared by the quantiser")
}

// FuzzBytes reads pages of other origin.
func FuzzBytes(f *testing.F) {
	f.Add(uint8(0), []byte{})
	f.Add(uint8(5), make([]byte, 300))
	f.Add(uint8(13), slices.Repeat([]byte{0x3f}, 1000))
	x, centres := clusters[float32](1, 40, 2, 1, 0.1, 1)
	f.Fuzz(func(t *testing.T, kind uint8, page []byte) {
		q, err := quantise.New[float32](40, lawOptions(1, 2, 4, 8)[kind%16], rand.NewPCG(1, 2))
		require.NoError(t, err)
		if kind >= 128 {
			q, err = q.WithCentres(centres)
			require.NoError(t, err)
		}
		dst := make([]quantise.Estimate, len(page)/q.RowBytes())
		page = slices.Clip(page)
		if err := q.EstimateBytes(dst, q.Prepare(nil, x.Row(0), quantise.Cosine, 0), page); err == nil {
			for _, e := range dst {
				require.False(t, math.IsNaN(e.Value) || math.IsNaN(e.StdErr), "%+v", e)
			}
		}
	})
}

// Rows of several segments with centres of their own move to codes with all centres, in any order.
func TestAppendRows(t *testing.T) {
	const d = 40
	x, centres := clusters[float32](300, d, 4, 3, 0.5, 1)
	bothKinds(t, 300, d, func(q quantise.Quantiser[float32], x dense.Matrix[float32]) {
		c, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		ids := rand.New(rand.NewPCG(3, 4)).Perm(300)[:200]
		sorted := dense.New[float32](200, d)
		for i, id := range ids {
			copy(sorted.Row(i), x.Row(id))
		}
		want, err := q.Encode(t.Context(), sorted)
		require.NoError(t, err)
		got, err := q.Encode(t.Context(), sorted.RowRange(0, 0))
		require.NoError(t, err)
		require.NoError(t, got.Grow(150))
		assert.Zero(t, got.Len())
		require.NoError(t, got.AppendRows(c, ids[:50]))
		require.NoError(t, got.Grow(10))
		require.NoError(t, got.AppendRows(c, ids[50:]))
		assert.Equal(t, fileOf(t, want), fileOf(t, got), "%v", q.Options())
		require.NoError(t, want.AppendRows(want, nil))
		assert.Equal(t, 400, want.Len())
		assert.Equal(t, want.Decode(dense.Matrix[float32]{}, 0, 200), want.Decode(dense.Matrix[float32]{}, 200, 400))
	})

	q := around(t, quantise.Options{}, centres)
	first, err := q.WithCentres(centres.RowRange(0, 2))
	require.NoError(t, err)
	second, err := q.WithCentres(centres.RowRange(2, 4))
	require.NoError(t, err)
	one, err := first.Encode(t.Context(), x.RowRange(0, 100))
	require.NoError(t, err)
	two, err := second.Encode(t.Context(), x.RowRange(100, 300))
	require.NoError(t, err)
	all, err := q.Encode(t.Context(), x.RowRange(0, 0))
	require.NoError(t, err)
	require.NoError(t, all.AppendRows(one, nil))
	require.NoError(t, all.AppendRows(two, nil))
	query := x.Row(5)
	assert.Equal(t, append(estimates(one, nil, query, quantise.InnerProduct), estimates(two, nil, query, quantise.InnerProduct)...), estimates(all, nil, query, quantise.InnerProduct))

	assert.ErrorContains(t, one.AppendRows(two, nil), "which the codes lack")
	assert.EqualError(t, one.AppendRows(two, []int{200}), "quantise: row 200 of 200")
	assert.EqualError(t, one.AppendRows(nil, nil), "quantise: from is nil")
	assert.EqualError(t, one.AppendRows(encode(t, x, quantise.Options{Bits: 1}), nil), "quantise: the rows are of a quantiser with other options or rotations")
	assert.ErrorContains(t, one.Grow(-1), "quantise: n = -1, want from 0 to")
	assert.Equal(t, 100, one.Len())
}

// Goroutines share a query while rows are appended.
//
//ci:race
func TestSharedQuery(t *testing.T) {
	x, centres := clusters[float32](2000, 48, 5, 3, 0.5, 1)
	for _, q := range []quantise.Quantiser[float32]{encode(t, x.RowRange(0, 1), quantise.Options{}).Quantiser(), around(t, quantise.Options{Bits: 1}, centres)} {
		whole, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		query := q.Prepare(nil, x.Row(3), quantise.SquaredDistance, 0)
		page, want := pageOf(t, q, x.RowRange(0, 64)), whole.Estimates(make([]quantise.Estimate, 2000), q.Prepare(nil, x.Row(3), quantise.SquaredDistance, 0), 0)
		c, err := q.Encode(t.Context(), x.RowRange(0, 64))
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				dst := make([]quantise.Estimate, 64)
				for n := 0; n < 2000; {
					n = c.Len()
					assert.Equal(t, want[n-64:n], c.Estimates(dst, query, n-64))
					assert.Equal(t, want[n-1], c.EstimateRows(dst[:1], query, []int{n - 1})[0])
					assert.NoError(t, q.EstimateBytes(dst, query, page))
					assert.Equal(t, want[:64], dst)
					c.Search(make([]quantise.Hit, 3), query)
				}
			})
		}
		for c.Len() < 2000 {
			require.NoError(t, c.Append(t.Context(), x.RowRange(c.Len(), c.Len()+44)))
		}
		group.Wait()
	}
}

func TestSmallAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	x, centres := clusters[float32](100, 48, 5, 3, 0.5, 1)
	for _, q := range []quantise.Quantiser[float32]{encode(t, x, quantise.Options{Bits: 8}).Quantiser(), around(t, quantise.Options{Bits: 1}, centres)} {
		page, dst, query := pageOf(t, q, x), make([]quantise.Estimate, 100), new(quantise.Query)
		assert.Zero(t, allocs.Settled(1, func() {
			_ = q.EncodeBytes(page, x)
			_ = q.EstimateBytes(dst, q.Prepare(query, x.Row(1), quantise.Cosine, 0.1), page)
		}))
	}
}

// Nothing about the estimates of a query that is not finite is a number, not even in one dimension,
// where codes have no error.
func TestEstimatesOfNaN(t *testing.T) {
	for _, d := range []int{1, 40} {
		plain, err := quantise.New[float32](d, quantise.Options{Bits: 4}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		centred, err := plain.WithCentres(random[float32](2, d, 3))
		require.NoError(t, err)
		for _, q := range []quantise.Quantiser[float32]{plain, centred} {
			x := random[float32](3, d, 4)
			clear(x.Row(2))
			c, err := q.Encode(t.Context(), x)
			require.NoError(t, err)
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				query := slices.Repeat([]float32{float32(bad)}, d)
				for _, by := range measures {
					for _, e := range c.Estimates(make([]quantise.Estimate, 3), q.Prepare(nil, query, by, 0.1), 0) {
						for _, v := range []float64{e.Value, e.StdErr, e.Low, e.High} {
							require.True(t, math.IsNaN(v), "d = %d, measure %d: %+v", d, by, e)
						}
					}
				}
			}
		}
	}
}
