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
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

var (
	_ quantise.Rotation[float32] = (*hadamard.Rotation[float32])(nil)
	_ quantise.Rotation[float64] = (*givens.Product[float64])(nil)
)

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

func encode[T dense.Float](t *testing.T, x dense.Matrix[T], o quantise.Options) quantise.Codes[T] {
	t.Helper()
	q, err := quantise.New[T](x.Cols, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	c, err := q.Encode(t.Context(), x)
	require.NoError(t, err)
	return c
}

// decoded returns what the definition of a scheme makes of a rotated vector: s times the number
// that makes an estimate of the cosine from sᵀp.
func decoded(o quantise.Options, y []float64) []float64 {
	d, norm := len(y), floats.Norm(y, 2)
	n := 1 << (o.Bits - 1)
	var cells codelaw.Cells
	switch o.Scheme {
	case quantise.RaBitQ:
		cells = codelaw.BestUniform(d, n)
	case quantise.LloydMax:
		cells = codelaw.LloydMax(d, n)
	case quantise.Uniform:
		cells = codelaw.Uniform(n, floats.Norm(y, math.Inf(1))/norm/float64(n))
	case quantise.QJL:
		cells = codelaw.Unbiased(d)
	}
	s, along := make([]float64, d), 0.0
	for i, v := range y {
		j := 0
		for j+1 < len(cells.Edges) && math.Abs(v) >= cells.Edges[j+1]*norm {
			j++
		}
		s[i] = math.Copysign(cells.Levels[j], v)
		along += s[i] * v / norm
	}
	if o.Scheme == quantise.RaBitQ {
		floats.Scale(1/along, s)
	}
	return s
}

func testDefinition[T dense.Float](t *testing.T) {
	const d = 96
	x, query := random[T](2, d, 1), random[T](1, d, 2)
	for _, o := range lawOptions(1, 2, 4, 8) {
		src := rand.NewPCG(7, 8)
		rotations := make([]quantise.Rotation[T], 1)
		if o.Scheme == quantise.QJL {
			rotations = make([]quantise.Rotation[T], o.Bits)
		}
		for i := range rotations {
			r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{}, src)
			require.NoError(t, err)
			rotations[i] = r
		}
		q, err := quantise.NewRotated(o, rotations...)
		require.NoError(t, err)
		c, err := q.Encode(t.Context(), x)
		require.NoError(t, err)
		got := estimates(c, nil, query.Row(0), quantise.InnerProduct)
		cosines := estimates(c, nil, query.Row(0), quantise.Cosine)
		distances := estimates(c, nil, query.Row(0), quantise.SquaredDistance)
		rows := c.Decode(dense.Matrix[T]{}, 0, 2)
		for i := range 2 {
			want := 0.0
			var norm, other float64
			for _, r := range rotations {
				y, p := doubles(r.Apply(dense.Matrix[T]{}, x.RowRange(i, i+1)).Row(0)), doubles(r.Apply(dense.Matrix[T]{}, query).Row(0))
				norm, other = floats.Norm(y, 2), floats.Norm(p, 2)
				want += norm * floats.Dot(decoded(o, y), p) / float64(len(rotations))
			}
			// Levels and sums are float32.
			exact := 200 * 0x1p-24 * norm * other
			tolerance := exact
			if o.Scheme == quantise.QJL || o.Scheme != quantise.LloydMax && o.Bits <= 2 || o.Bits == 1 {
				// The query has one byte a coordinate, with errors of up to half of ‖q‖·√(2·log d/d)/127.
				tolerance += 5 * norm * other * math.Sqrt(2*math.Log(d)/d) / 127 / math.Sqrt(12) * 1.6
			}
			assert.InDelta(t, want, got[i], tolerance, "%v, row %d", o, i)
			assert.InDelta(t, want/norm/other, cosines[i], tolerance/norm/other, "%v, row %d", o, i)
			assert.InDelta(t, norm*norm+other*other-2*want, distances[i], 2*tolerance+1e-6*norm*norm, "%v, row %d", o, i)
			assert.InDelta(t, want, floats.Dot(doubles(rows.Row(i)), doubles(query.Row(0))), exact, "%v, row %d decoded", o, i)
		}
	}
}

func doubles[T dense.Float](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func TestEstimatesAreThoseOfTheDefinitions(t *testing.T) {
	densetest.Both(t, testDefinition[float32], testDefinition[float64])
}

// Rows may come at once or in parts, on any number of processors.
func TestAppend(t *testing.T) {
	x := random[float32](300, 70, 3)
	for _, o := range lawOptions(1, 4) {
		whole := encode(t, x, o)
		parts, err := whole.Quantiser().Encode(t.Context(), x.RowRange(0, 0))
		require.NoError(t, err)
		assert.Zero(t, parts.Len())
		old := runtime.GOMAXPROCS(1)
		for _, at := range [][2]int{{0, 1}, {1, 130}, {130, 130}, {130, 300}} {
			require.NoError(t, parts.Append(t.Context(), x.RowRange(at[0], at[1])))
			assert.Equal(t, at[1], parts.Len())
		}
		runtime.GOMAXPROCS(old)
		a := fileOf(t, whole)
		b := fileOf(t, parts)
		assert.Equal(t, a, b, "%v", o)
	}
}

//ci:portable
func TestBytes(t *testing.T) {
	x := random[float32](10, 768, 3)
	for o, want := range map[quantise.Options]int{
		{Bits: 1}: 96 + 8, {Bits: 4}: 384 + 12, {}: 384 + 12,
		{Scheme: quantise.LloydMax, Bits: 2}: 192 + 4, {Scheme: quantise.Uniform, Bits: 8}: 768 + 8,
		{Scheme: quantise.QJL, Bits: 2}: 192 + 4,
	} {
		assert.Equal(t, 10*want, encode(t, x, o).Bytes(), "%v", o)
	}
}

// The zero vector has the estimates that are true of it.
func TestZeroRows(t *testing.T) {
	x := random[float64](3, 20, 4)
	clear(x.Row(1))
	query := random[float64](1, 20, 5).Row(0)
	for _, o := range lawOptions(1, 4) {
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

// Every finite size of float32 in the range has codes, and the codes do not depend on it.
func TestSizes(t *testing.T) {
	x := random[float64](1, 24, 6)
	query := random[float64](1, 24, 7).Row(0)
	for _, o := range lawOptions(1, 8) {
		want := estimates(encode(t, x, o), nil, query, quantise.Cosine)[0]
		for _, scale := range []float64{0x1p-98, 0x1p97} {
			y := x.Clone()
			floats.Scale(scale, y.Data)
			assert.InDelta(t, want, estimates(encode(t, y, o), nil, query, quantise.Cosine)[0], 1e-6, "%v", o)
		}
		for _, scale := range []float64{1e-200, 1e-160, 1e-40, 1e40, 1e200} {
			y := x.Clone()
			floats.Scale(scale, y.Data)
			_, err := encode(t, x, o).Quantiser().Encode(t.Context(), y)
			assert.ErrorContains(t, err, "quantise: row 0 h", "%v, %v", o, scale)
			assert.ErrorContains(t, err, " norm ", "%v, %v", o, scale)
		}
	}
}

func TestRowsThatAreNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		x := random[float32](200, 33, 8)
		c := encode(t, x, quantise.Options{})
		before := fileOf(t, c)
		x.Set(150, 7, bad)
		x.Set(70, 0, bad)
		assert.EqualError(t, c.Append(t.Context(), x), "quantise: row 70 holds NaN or ±Inf, or has a norm above 1e150")
		after := fileOf(t, c)
		assert.Equal(t, before, after)
	}
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
		{8, quantise.Options{Scheme: 4}, src, "quantise: Scheme = 4, want one of the constants"},
		{8, quantise.Options{Scheme: -1}, src, "quantise: Scheme = -1, want one of the constants"},
		{8, quantise.Options{}, nil, "quantise: src is nil"},
	} {
		_, err := quantise.New[float32](c.d, c.o, c.src)
		assert.EqualError(t, err, c.want)
	}
	_, err := quantise.New[float32](math.MaxInt/2, quantise.Options{}, src)
	assert.ErrorContains(t, err, fmt.Sprintf("quantise: d = %d: ", math.MaxInt/2))
	assert.Equal(t, "Scheme(7)", quantise.Scheme(7).String())
	assert.Equal(t, "QJL", quantise.QJL.String())
}

func TestOverErrors(t *testing.T) {
	rotation := func(d int) quantise.Rotation[float32] {
		r, err := hadamard.NewRotation[float32](d, hadamard.RotationOptions{}, rand.NewPCG(1, 1))
		require.NoError(t, err)
		return r
	}
	for _, c := range []struct {
		o    quantise.Options
		r    []quantise.Rotation[float32]
		want string
	}{
		{quantise.Options{}, nil, "quantise: 0 rotations, want 1 for RaBitQ with 4 bits"},
		{quantise.Options{Scheme: quantise.QJL, Bits: 2}, []quantise.Rotation[float32]{rotation(8)}, "quantise: 1 rotations, want 2 for QJL with 2 bits"},
		{quantise.Options{}, []quantise.Rotation[float32]{nil}, "quantise: rotation 0 is nil"},
		{quantise.Options{}, []quantise.Rotation[float32]{rotation(2)}, "quantise: rotation 0 from R^2 into R^2, want d ≥ 1 and d' ≥ max(d, 4)"},
		{quantise.Options{Scheme: quantise.QJL, Bits: 2}, []quantise.Rotation[float32]{rotation(8), rotation(7)}, "quantise: rotation 1 from R^7 into R^8, want R^8 into R^8 like the first"},
	} {
		_, err := quantise.NewRotated(c.o, c.r...)
		assert.EqualError(t, err, c.want)
	}
}

func TestShapesPanic(t *testing.T) {
	c := encode(t, random[float64](3, 10, 1), quantise.Options{})
	prepared := c.Quantiser().Prepare(nil, make([]float64, 10), 0, 0)
	for want, f := range map[string]func(){
		"quantise: x is 2×9, want n×10":                                     func() { _ = c.Append(t.Context(), dense.New[float64](2, 9)) },
		"quantise: query has 9 elements, want 10":                           func() { estimates(c, nil, make([]float64, 9), quantise.Cosine) },
		"quantise: rows [0, 4) of 3":                                        func() { estimates(c, make([]float64, 4), make([]float64, 10), quantise.Cosine) },
		"quantise: measure 3, want one of the constants":                    func() { search(c, nil, make([]float64, 10), 3) },
		"quantise: row 3 of 3":                                              func() { c.EstimateRows(make([]quantise.Estimate, 1), prepared, []int{3}) },
		"quantise: row -1 of 3":                                             func() { c.EstimateRows(make([]quantise.Estimate, 1), prepared, []int{-1}) },
		"quantise: dst has 2 elements, want 1":                              func() { c.EstimateRows(make([]quantise.Estimate, 2), prepared, []int{0}) },
		"quantise: rows [-1, 0) of 3":                                       func() { c.Estimates(make([]quantise.Estimate, 1), prepared, -1) },
		"quantise: miss = 1, want a probability between 0 and 1":            func() { c.Quantiser().Prepare(nil, make([]float64, 10), 0, 1) },
		"quantise: the query is not prepared by the quantiser of the codes": func() { c.Search(nil, new(quantise.Query)) },
		"quantise: rows [1, 4) of 3":                                        func() { c.Decode(dense.Matrix[float64]{}, 1, 4) },
	} {
		assert.PanicsWithValue(t, want, f)
	}
}

// Codes of an ended call are not there: the index is as it was.
func TestContextOfCodes(t *testing.T) {
	x := random[float64](500, 10, 1)
	c := encode(t, x, quantise.Options{})
	before := fileOf(t, c)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Append(ended, x), context.Canceled)
	_, err := c.Quantiser().Encode(ended, x)
	require.ErrorIs(t, err, context.Canceled)
	after := fileOf(t, c)
	assert.Equal(t, before, after)

	var none context.Context
	assert.PanicsWithValue(t, "quantise: ctx is nil", func() { _ = c.Append(none, x) })
	assert.PanicsWithValue(t, "quantise: ctx is nil", func() { _, _ = c.Quantiser().Encode(none, x) })
}

// Small dimensions are padded; a law is missing only where the documentation says so.
func TestSmallDimensions(t *testing.T) {
	for d := 1; d < 40; d++ {
		for _, o := range lawOptions(1, 2) {
			q, err := quantise.New[float32](d, o, rand.NewPCG(1, 2))
			require.NoError(t, err)
			in, out := q.Dims()
			assert.Equal(t, d, in)
			assert.GreaterOrEqual(t, out, max(4, d))
			mean, variance := q.Theory(0.5)
			assert.InDelta(t, 0.5, mean, 0.4, "%v", o)
			assert.Equal(t, o.Scheme == quantise.RaBitQ && o.Bits > 1 && out < 32, math.IsNaN(variance), "%v, d' = %d", o, out)
			c, err := q.Encode(t.Context(), random[float32](2, d, 1))
			require.NoError(t, err)
			assert.Len(t, search(c, make([]quantise.Hit, 2), make([]float32, d), quantise.Cosine), 2)
		}
	}
}
