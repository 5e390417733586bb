package performer

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

func TestLayer(t *testing.T) {
	bothTypes(t, testLayer[float32], testLayer[float64])
}

func testLayer[T dense.Float](t *testing.T) {
	const n, in, d, dv = 70, 5, 4, 5
	rng := rand.New(source(60))
	x := gaussian[T](rng, n, in, 0, 0.5)
	wq, wk, wv := gaussian[T](rng, in, d, 0, 0.4), gaussian[T](rng, in, d, 0, 0.4), gaussian[T](rng, in, dv, 0, 0.4)
	bq, bk, bv := gaussian[T](rng, 1, d, 0, 1).Data, gaussian[T](rng, 1, d, 0, 1).Data, gaussian[T](rng, 1, dv, 0, 1).Data
	for _, form := range everyForm[T](d) {
		for _, biased := range []bool{true, false} {
			bq, bk, bv := bq, bk, bv
			if !biased {
				bq, bk, bv = nil, nil, nil
			}
			l, err := NewLayer(wq, bq, wk, bk, wv, bv, form)
			require.NoError(t, err)
			inputs, outputs := l.Dims()
			assert.Equal(t, [2]int{in, dv}, [2]int{inputs, outputs})
			got := l.Forward(dense.Matrix[T]{}, x)

			q, k, v := plainAffine(x, wq, bq), plainAffine(x, wk, bk), plainAffine(x, wv, bv)
			want := dense.Convert(dense.Matrix[float64]{}, form.Forward(dense.Matrix[T]{}, q, k, v))
			// Q, K and V differ by in+1 roundings of terms of order one; the outputs
			// move with them by at most the size of the weights and values, ≤ 100.
			size := 1.0
			for _, y := range want.Data {
				size = max(size, y, -y)
			}
			requireClose(t, want, filled(n, dv, 100*(in+1)*size*eps[T]()), got, "%T biased=%v", form, biased)
			assert.Equal(t, got, l.Forward(x.Clone(), x), "into other memory")
			y := x.Clone()
			assert.Equal(t, got, l.Forward(y, y), "dst is x")
		}
	}
}

// plainAffine returns x·w + b, computed in float64 and rounded once.
func plainAffine[T dense.Float](x, w dense.Matrix[T], b []T) dense.Matrix[T] {
	y := dense.New[T](x.Rows, w.Cols)
	for i := range y.Rows {
		for j := range y.Cols {
			sum := 0.0
			if b != nil {
				sum = float64(b[j])
			}
			for c := range x.Cols {
				sum += float64(x.At(i, c)) * float64(w.At(c, j))
			}
			y.Set(i, j, T(sum))
		}
	}
	return y
}

func TestLayerCopiesItsWeights(t *testing.T) {
	w, b := filled[float64](2, 2, 1), []float64{1, 2}
	l := must(NewLayer(w, b, w, b, w, b, Form[float64](Exact[float64]{})))
	x := filled[float64](3, 2, 1)
	want := l.Forward(dense.Matrix[float64]{}, x)
	w.Set(0, 0, 9)
	b[0] = 9
	assert.Equal(t, want, l.Forward(dense.Matrix[float64]{}, x))
}

func TestLayerErrors(t *testing.T) {
	mat := dense.New[float32]
	exact := Form[float32](Exact[float32]{})
	for _, c := range []struct {
		wq, wk, wv dense.Matrix[float32]
		bq, bv     []float32
		form       Form[float32]
		want       string
	}{
		{mat(3, 2), mat(3, 2), mat(3, 4), nil, nil, nil, "performer: attention is nil"},
		{mat(3, 2), mat(3, 5), mat(3, 4), nil, nil, exact, "performer: wq is 3×2, wk is 3×5, wv is 3×4, want in×d, in×d and in×dv"},
		{mat(3, 2), mat(3, 2), mat(4, 4), nil, nil, exact, "performer: wq is 3×2, wk is 3×2, wv is 4×4, want in×d, in×d and in×dv"},
		{mat(3, 2), mat(3, 2), mat(3, 4), make([]float32, 3), nil, exact, "performer: bq has length 3, wq is 3×2, want a bias for each column"},
		{mat(3, 2), mat(3, 2), mat(3, 4), nil, make([]float32, 2), exact, "performer: bv has length 2, wv is 3×4, want a bias for each column"},
		{mat(3, 2), mat(3, 2), mat(3, 4), nil, nil, attention(reLU[float32](5), Options{}), "performer: wq is 3×2, but attention takes queries of dimension 5"},
	} {
		_, err := NewLayer(c.wq, c.bq, c.wk, nil, c.wv, c.bv, c.form)
		assert.EqualError(t, err, c.want)
	}
	l := must(NewLayer(mat(3, 2), nil, mat(3, 2), nil, mat(3, 4), nil, exact))
	assert.PanicsWithValue(t, "performer: x is 7×2, wq is 3×2, want L×3", func() { l.Forward(dense.Matrix[float32]{}, mat(7, 2)) })
	assert.PanicsWithValue(t, "dense: destination is 7×3, want 7×4", func() { l.Forward(mat(7, 3), mat(7, 3)) })
}
