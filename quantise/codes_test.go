package quantise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// decoded returns what the definition makes of a rotated vector: s times the number that makes an
// estimate of the cosine from sᵀp.
func decoded(cells codelaw.Cells, y []float64) []float64 {
	norm, s, along := floats.Norm(y, 2), make([]float64, len(y)), 0.0
	for i, v := range y {
		j := 0
		for j+1 < len(cells.Edges) && math.Abs(v) >= cells.Edges[j+1]*norm {
			j++
		}
		s[i] = math.Copysign(cells.Levels[j], v)
		along += s[i] * v / norm
	}
	floats.Scale(1/along, s)
	return s
}

func testDefinition[T dense.Float](t *testing.T) {
	const d = 96
	x, query := random[T](2, d, 1), random[T](1, d, 2)
	r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{}, rand.NewPCG(7, 8))
	require.NoError(t, err)
	p := doubles(r.Apply(dense.Matrix[T]{}, query).Row(0))
	for _, o := range options(1, 2, 4, 8) {
		q, cells := newQuantiser[T](t, d, o), codelaw.BestUniform(d, 1<<(int(o.Bits)-1))
		quantise.Rotate(q, r)
		c := codesOf(t, q, x)
		got := estimates(c, nil, query.Row(0), quantise.InnerProduct)
		cosines := estimates(c, nil, query.Row(0), quantise.Cosine)
		distances := estimates(c, nil, query.Row(0), quantise.SquaredDistance)
		rows := c.Decode(dense.Matrix[T]{}, 0, 2)
		for i := range 2 {
			y := doubles(r.Apply(dense.Matrix[T]{}, x.RowRange(i, i+1)).Row(0))
			norm, other := floats.Norm(y, 2), floats.Norm(p, 2)
			want := norm * floats.Dot(decoded(cells, y), p)
			// Levels and sums are float32.
			exact := 200 * 0x1p-24 * norm * other
			tolerance := exact
			if o.Bits <= 2 {
				// The query has one byte a coordinate, with errors of up to half of ‖q‖·√(2·log
				// d/d)/127.
				tolerance += 5 * norm * other * math.Sqrt(2*math.Log(d)/d) / 127 / math.Sqrt(12) * 1.6
			}
			assert.InDelta(t, want, got[i], tolerance, "%v, row %d", o, i)
			assert.InDelta(t, want/norm/other, cosines[i], tolerance/norm/other, "%v, row %d", o, i)
			assert.InDelta(t, norm*norm+other*other-2*want, distances[i], 2*tolerance+1e-6*norm*norm, "%v, row %d", o, i)
			assert.InDelta(t, want, floats.Dot(doubles(rows.Row(i)), doubles(query.Row(0))), exact, "%v, row %d decoded", o, i)
		}
	}
}

func TestEstimatesAreThoseOfTheDefinitions(t *testing.T) {
	densetest.Both(t, testDefinition[float32], testDefinition[float64])
}

// Rows may come at once or in parts, also after those of a file, on any number of processors.
func TestBlocks(t *testing.T) {
	const n, d = 800, 24
	bothKinds(t, n, d, func(q quantise.Quantiser[float32], x dense.Matrix[float32]) {
		whole, parts, rng := codesOf(t, q, x), codesOf(t, q, x.RowRange(0, 0)), rand.New(rand.NewPCG(3, 4))
		assert.Zero(t, parts.Len())
		old := runtime.GOMAXPROCS(1)
		for at := 0; at < n; {
			next := min(n, at+rng.IntN(19))
			require.NoError(t, parts.Append(t.Context(), x.RowRange(at, next)))
			at = next
			assert.Equal(t, at, parts.Len())
		}
		runtime.GOMAXPROCS(old)
		sameCodes(t, whole, parts, x.Row(7), fmt.Sprint(q.Options()))
		half, err := quantise.View[float32](aligned(fileOf(t, codesOf(t, q, x.RowRange(0, 201))), 0))
		require.NoError(t, err)
		require.NoError(t, half.Append(t.Context(), x.RowRange(201, n)))
		sameCodes(t, whole, half, x.Row(7), fmt.Sprint(q.Options()))
	})
}

// Rows with centres of their own move to codes with all centres, in any order.
func TestAppendRows(t *testing.T) {
	const n, d = 150, 40
	x, centres := clusters[float32](n, d, 4, 3, 0.5, 1)
	bothKinds(t, n, d, func(q quantise.Quantiser[float32], x dense.Matrix[float32]) {
		c, ids, sorted := codesOf(t, q, x), rand.New(rand.NewPCG(3, 4)).Perm(n)[:100], dense.New[float32](100, d)
		for i, id := range ids {
			copy(sorted.Row(i), x.Row(id))
		}
		want, got := codesOf(t, q, sorted), codesOf(t, q, sorted.RowRange(0, 0))
		assert.Zero(t, got.Len())
		require.NoError(t, got.AppendRows(c, ids[:50]))
		require.NoError(t, got.AppendRows(c, ids[50:]))
		assert.Equal(t, fileOf(t, want), fileOf(t, got), "%v", q.Options())
		require.NoError(t, want.AppendRows(want, nil))
		assert.Equal(t, 200, want.Len())
		assert.Equal(t, want.Decode(dense.Matrix[float32]{}, 0, 100), want.Decode(dense.Matrix[float32]{}, 100, 200))
	})

	q := around(t, quantise.Options{}, centres)
	first, err := q.WithCentres(centres.RowRange(0, 2))
	require.NoError(t, err)
	second, err := q.WithCentres(centres.RowRange(2, 4))
	require.NoError(t, err)
	one, two, all := codesOf(t, first, x.RowRange(0, 100)), codesOf(t, second, x.RowRange(100, n)), codesOf(t, q, x.RowRange(0, 0))
	require.NoError(t, all.AppendRows(one, nil))
	require.NoError(t, all.AppendRows(two, nil))
	query := x.Row(5)
	assert.Equal(t, append(estimates(one, nil, query, quantise.InnerProduct), estimates(two, nil, query, quantise.InnerProduct)...), estimates(all, nil, query, quantise.InnerProduct))

	assert.ErrorContains(t, one.AppendRows(two, nil), "which the codes lack")
	assert.EqualError(t, one.AppendRows(two, []int{50}), "quantise: row 50 of 50")
	assert.EqualError(t, one.AppendRows(nil, nil), "quantise: from is nil")
	assert.EqualError(t, one.AppendRows(encode(t, x, quantise.Options{Bits: 1}), nil), "quantise: the rows are of a quantiser with other options or another rotation")
	assert.Equal(t, 100, one.Len())
}

//ci:portable
func TestBytes(t *testing.T) {
	x := random[float32](10, 768, 3)
	for o, want := range map[quantise.Options]int{
		{Bits: 1}: 96 + 8, {Bits: 4}: 384 + 12, {}: 384 + 12, {Bits: 2}: 192 + 12,
	} {
		assert.Equal(t, 10*want, encode(t, x, o).Bytes(), "%v", o)
	}
	assert.Equal(t, 10*(384+12+16), codesOf(t, around(t, quantise.Options{}, x.RowRange(0, 2)), x).Bytes())
}

// The zero vector has the estimates that are true of it.
func TestZeroRows(t *testing.T) {
	x := random[float64](3, 20, 4)
	clear(x.Row(1))
	query := random[float64](1, 20, 5).Row(0)
	for _, o := range options(1, 4) {
		c := encode(t, x, o)
		assert.Zero(t, estimates(c, nil, query, quantise.InnerProduct)[1], "%v", o)
		assert.Zero(t, estimates(c, nil, query, quantise.Cosine)[1], "%v", o)
		assert.InEpsilon(t, floats.Dot(query, query), estimates(c, nil, query, quantise.SquaredDistance)[1], 1e-12, "%v", o)
		assert.Equal(t, make([]float64, 20), c.Decode(dense.Matrix[float64]{}, 1, 2).Row(0), "%v", o)
		for _, hit := range search(c, make([]quantise.Hit, 3), query, quantise.Cosine) {
			if hit.ID == 1 {
				assert.Zero(t, hit.Estimate, "%v", o)
			} else {
				assert.Positive(t, hit.StdErr, "%v", o)
			}
		}
		assert.Equal(t, make([]float64, 3), estimates(c, nil, make([]float64, 20), quantise.InnerProduct), "%v", o)
	}
}

// Errors name the first row and its norm, where float32 rotations overflow too, and leave the
// codes.
func TestRowsThatHaveNoCodes(t *testing.T) {
	x := random[float32](200, 33, 8)
	c := encode(t, x, quantise.Options{})
	before := fileOf(t, c)
	for want, v := range map[string]float64{
		"holds NaN or ±Inf, or has a norm above 1e150":        math.NaN(),
		"holds NaN or ±Inf, or has a norm above 1e150.":       math.Inf(-1),
		"has the norm 3e+38, want 0 or from 2⁻¹⁰⁰ to 2¹⁰⁰":    3e38,
		"has the norm 5.74e-40, want 0 or from 2⁻¹⁰⁰ to 2¹⁰⁰": 1e-40,
	} {
		bad := x.Clone()
		bad.Set(150, 7, float32(math.NaN()))
		bad.Set(70, 2, float32(v))
		for j := range 33 {
			if v == 1e-40 {
				bad.Set(70, j, 1e-40)
			}
		}
		assert.ErrorContains(t, c.Append(t.Context(), bad), "quantise: row 70 "+want[:40])
		assert.Equal(t, before, fileOf(t, c))
	}
	y := random[float64](9, 24, 3)
	y.Set(5, 2, 1e300)
	assert.EqualError(t, encode(t, y.RowRange(0, 5), quantise.Options{}).Append(t.Context(), y), "quantise: row 5 holds NaN or ±Inf, or has a norm above 1e150")
	q := newQuantiser[float64](t, 24, quantise.Options{})
	quantise.Rotate(q, nowhere{})
	_, err := q.Encode(t.Context(), y.RowRange(0, 1))
	assert.EqualError(t, err, "quantise: row 0 holds NaN or ±Inf, or has a norm above 1e150")
}

// nowhere is a rotation to NaN.
type nowhere struct{ *quantise.Haar }

func (nowhere) Apply(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = dense.Ensure(dst, x.Rows, x.Cols)
	for i := range dst.Rows {
		dst.Set(i, 2, math.NaN())
	}
	return dst
}

func TestNewErrors(t *testing.T) {
	src := rand.NewPCG(1, 1)
	for _, c := range []struct {
		d    int
		o    quantise.Options
		src  rand.Source
		want string
	}{
		{0, quantise.Options{}, src, "quantise: d = 0, want at least 1"},
		{8, quantise.Options{Bits: 3}, src, "quantise: Bits = 3, want 1, 2, 4 or 8, or 0 for 4"},
	} {
		_, err := quantise.New[float32](c.d, c.o, c.src)
		assert.EqualError(t, err, c.want)
	}
	_, err := quantise.New[float32](math.MaxInt/2, quantise.Options{}, src)
	assert.ErrorContains(t, err, fmt.Sprintf("quantise: d = %d: ", math.MaxInt/2))
}

func TestShapesPanic(t *testing.T) {
	c := encode(t, random[float64](3, 10, 1), quantise.Options{})
	q, one := c.Quantiser(), make([]quantise.Estimate, 1)
	prepared := q.Prepare(nil, make([]float64, 10), 0, 0)
	var none context.Context
	for want, f := range map[string]func(){
		"quantise: x is 2×9, want n×10":                                     func() { _ = c.Append(t.Context(), dense.New[float64](2, 9)) },
		"quantise: x is 3×9, want n×10":                                     func() { _, _ = q.EncodeBytes(nil, dense.New[float64](3, 9)) },
		"quantise: query has 9 elements, want 10":                           func() { q.Prepare(nil, make([]float64, 9), quantise.Cosine, 0) },
		"quantise: measure 3, want one of the constants":                    func() { q.Prepare(nil, make([]float64, 10), 3, 0) },
		"quantise: miss = 1, want a probability between 0 and 1":            func() { q.Prepare(nil, make([]float64, 10), 0, 1) },
		"quantise: miss = NaN, want a probability between 0 and 1":          func() { q.Prepare(nil, make([]float64, 10), 0, math.NaN()) },
		"quantise: dst has 4 elements for 3 rows":                           func() { c.Estimates(make([]quantise.Estimate, 4), prepared, nil) },
		"quantise: row 3 of 3":                                              func() { c.Estimates(one, prepared, []int{3}) },
		"quantise: row -1 of 3":                                             func() { c.Estimates(one, prepared, []int{-1}) },
		"quantise: dst has 1 elements, want 0":                              func() { c.Estimates(one, prepared, []int{}) },
		"quantise: the query is not prepared by the quantiser of the codes": func() { c.Search(nil, new(quantise.Query)) },
		"quantise: rows [1, 4) of 3":                                        func() { c.Decode(dense.Matrix[float64]{}, 1, 4) },
		"quantise: ctx is nil":                                              func() { _ = c.Append(none, dense.New[float64](2, 10)) },
	} {
		assert.PanicsWithValue(t, want, f)
	}
}

// Small dimensions are padded; a law is missing only where the documentation says so.
func TestSmallDimensions(t *testing.T) {
	for d := 1; d < 40; d++ {
		for _, o := range options(1, 2, 4, 8) {
			q := newQuantiser[float32](t, d, o)
			in, out := q.Dims()
			assert.Equal(t, d, in)
			assert.GreaterOrEqual(t, out, max(64/int(o.Bits), d))
			mean, variance := q.Theory(0.5)
			assert.Equal(t, 0.5, mean)
			assert.Equal(t, o.Bits > 1 && out < 32, math.IsNaN(variance), "%v, d' = %d", o, out)
			c := codesOf(t, q, random[float32](2, d, 1))
			assert.Len(t, search(c, make([]quantise.Hit, 2), make([]float32, d), quantise.Cosine), 2)
		}
	}
}
