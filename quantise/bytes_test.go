package quantise_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

func testBytesAreCodes[T dense.Float](t *testing.T) {
	const n, d = 130, 100
	bothKinds(t, n, d, func(q quantise.Quantiser[T], x dense.Matrix[T]) {
		c, page := codesOf(t, q, x), pageOf(t, q, x)
		for _, by := range measures {
			query := q.Prepare(nil, x.Row(7), by, 0)
			want, got := c.Estimates(make([]quantise.Estimate, n), query, nil), make([]quantise.Estimate, n)
			require.NoError(t, q.EstimateBytes(got, query, page))
			require.Equal(t, want, got, "%v, measure %d", q.Options(), by)
			// by other code
			for i, e := range c.Estimates(got, q.Prepare(nil, x.Row(7), by, 0.01), nil) {
				require.Equal(t, want[i].Value, e.Value)
				require.InEpsilon(t, want[i].StdErr, e.StdErr, 1e-9)
			}
			ids := []int{129, 0, 64, 64, 63, 64, 65, 66, 1}
			for i, e := range c.Estimates(make([]quantise.Estimate, len(ids)), query, ids) {
				require.Equal(t, want[ids[i]], e)
			}
			require.Equal(t, want[:60], c.Estimates(make([]quantise.Estimate, 60), query, nil))
		}
	})
}

// Bytes have the codes and the estimates of Codes.
func TestBytesAreCodes(t *testing.T) {
	densetest.Both(t, testBytesAreCodes[float32], testBytesAreCodes[float64])
}

// Another program reads rows as docs/search.md says.
func TestBytesAreAsDocumented(t *testing.T) {
	const d = 200
	x := random[float64](2, d, 3)
	for _, bits := range []int{1, 2, 4, 8} {
		r, err := hadamard.NewRotation[float64](d, hadamard.RotationOptions{}, rand.NewPCG(5, 6))
		require.NoError(t, err)
		q := newQuantiser[float64](t, d, quantise.Options{Bits: float64(bits)})
		quantise.Rotate(q, r)
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
	const size = 8 + 5*4 + 4
	require.Len(t, page, 3*size)
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
	x.Set(2, 1, float32(math.NaN()))
	kept, err := q.EncodeBytes([]byte("kept"), x)
	assert.EqualError(t, err, "quantise: row 2 holds NaN or ±Inf, or has a norm above 1e150")
	assert.Equal(t, "kept", string(kept))
	assert.EqualError(t, q.EstimateBytes(dst, new(quantise.Query), page), "quantise: the query is not prepared by the quantiser")
}

// FuzzBytes reads pages of other origin.
func FuzzBytes(f *testing.F) {
	f.Add(uint8(0), []byte{})
	f.Add(uint8(5), make([]byte, 300))
	f.Add(uint8(3), slices.Repeat([]byte{0x3f}, 1000))
	x, centres := clusters[float32](1, 40, 2, 1, 0.1, 1)
	f.Fuzz(func(t *testing.T, kind uint8, page []byte) {
		o := options(1, 2, 4, 8)[kind%4]
		q := newQuantiser[float32](t, 40, o)
		if kind >= 128 {
			q = around(t, o, centres)
		}
		dst := make([]quantise.Estimate, len(page)/len(pageOf(t, q, x)))
		page = slices.Clip(page)
		if err := q.EstimateBytes(dst, q.Prepare(nil, x.Row(0), quantise.Cosine, 0), page); err == nil {
			for _, e := range dst {
				require.False(t, math.IsNaN(e.Value) || math.IsNaN(e.StdErr), "%+v", e)
			}
		}
	})
}

// Nothing about the estimates of a query that is not finite is a number, not even in one dimension,
// where codes have no error. A search finds the first rows.
func TestQueriesThatAreNotFinite(t *testing.T) {
	for _, d := range []int{1, 40} {
		for _, q := range []quantise.Quantiser[float32]{newQuantiser[float32](t, d, quantise.Options{}), around(t, quantise.Options{}, random[float32](2, d, 3))} {
			x := random[float32](3, d, 4)
			clear(x.Row(2))
			c := codesOf(t, q, x)
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				row := random[float32](1, d, 7).Row(0)
				row[d/2] = float32(bad)
				for _, by := range measures {
					query := q.Prepare(nil, row, by, 0.1)
					for _, e := range c.Estimates(make([]quantise.Estimate, 3), query, nil) {
						for _, v := range []float64{e.Value, e.StdErr, e.Low, e.High} {
							require.True(t, math.IsNaN(v), "d = %d, measure %d: %+v", d, by, e)
						}
					}
					for i, hit := range c.Search(make([]quantise.Hit, 2), query) {
						assert.Equal(t, i, hit.ID)
						assert.True(t, math.IsNaN(hit.Value) && math.IsNaN(hit.StdErr))
					}
				}
			}
		}
	}
}
