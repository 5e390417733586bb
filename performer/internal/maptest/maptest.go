// Package maptest holds the feature maps that tests of attention begin with.
package maptest

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func Frequencies[T dense.Float](m, d int) orf.Projection[T] {
	return must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, densetest.Source(1)))
}

func Positive[T dense.Float](m, d int) rff.Map[T] {
	return must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, Frequencies[T](m, d)))
}

// Centred returns the map m of queries and keys less two fixed vectors.
func Centred[T dense.Float](m rff.Map[T]) rff.Map[T] {
	d, _ := m.Dims()
	means := densetest.Normal[T](rand.New(densetest.Source(7)), 2, d, 0, 0.5)
	return must.Have(rff.Centred(m, means.Row(0), means.Row(1)))
}
