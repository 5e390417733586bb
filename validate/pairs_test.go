package validate_test

import (
	"math/rand/v2"
	"regexp"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

// Cases whose name matches alone have strongly dependent estimates at the pairs of a group:
// exponentials of ‖w‖². Cases that match shared have common phases or lengths.
var (
	alone  = regexp.MustCompile(`optimal|sderf`)
	shared = regexp.MustCompile(`phase|matern of 1/2`)
)

// copiesFor returns the number of pairs of a group for a case in R^d, and the number of independent
// pairs with the same standard error: the variance of the squared error at one pair over the
// variance of the mean over the copies. The numbers are about a tenth below the smallest measured
// ratio of all cases.
func copiesFor(name string, d int) (copies int, worth float64) {
	switch {
	case d < 4:
		return 1, 1
	case alone.MatchString(name):
		return min(d/2, 4), 1
	case d < 8 && shared.MatchString(name):
		return 8, 2
	case d < 8:
		return 8, 2.6
	case shared.MatchString(name):
		return 16, 3
	case d < 16:
		return 16, 5
	case d < 64:
		return 16, 10
	}
	return 16, 15
}

// pairsFor returns the pairs for a case, and the number of draws that are as accurate as a number
// of independent estimates at each group.
func pairsFor[T dense.Float](name string, d int, scale float64, estimates int) (p points[T], draws int) {
	copies, worth := copiesFor(name, d)
	return lawPairs[T](d, scale, copies), max(int(float64(estimates)/worth), fewestDraws)
}

// orthonormal returns an orthogonal d×d matrix of random directions.
func orthonormal(rng *rand.Rand, d int) dense.Matrix[float64] {
	q := densetest.Normal[float64](rng, d, d, 0, 1)
	for i := range d {
		row := q.Row(i)
		// A second time takes away what rounding has left.
		for range 2 {
			for k := range i {
				floats.AddScaled(row, -floats.Dot(row, q.Row(k)), q.Row(k))
			}
			floats.Scale(1/floats.Norm(row, 2), row)
		}
	}
	return q
}

// lawPairs returns pairs of points of R^d, times scale, in three groups of copies: at a general
// angle, sparse, and nearly opposite, where the softmax kernel is small. The copies lie in
// orthogonal planes, and then in planes of other frames. p = ‖x+y‖² is below 0.7 at scale 1,
// because the standard error of a mean squared error depends on fourth moments, which grow as
// e^(8p) for exponentials.
func lawPairs[T dense.Float](d int, scale float64, copies int) points[T] {
	rng := rand.New(rand.NewPCG(uint64(d), 1))
	px, py := dense.New[float64](3*copies, d), dense.New[float64](3*copies, d)
	var frame dense.Matrix[float64]
	var axes []int
	for c := range copies {
		plane := 2 * (c % (d / 2))
		if plane == 0 {
			frame, axes = orthonormal(rng, d), rng.Perm(d)
		}
		first, second := frame.Row(plane), frame.Row(plane+1)
		general, sparse, opposite := 3*c, 3*c+1, 3*c+2
		floats.ScaleTo(px.Row(general), 0.5, first)
		floats.ScaleTo(py.Row(general), -0.15, first)
		floats.AddScaled(py.Row(general), 0.45, second)
		px.Set(sparse, axes[plane], 0.5)
		py.Set(sparse, axes[plane], -0.2)
		py.Set(sparse, axes[plane+1], 0.4)
		floats.ScaleTo(px.Row(opposite), 1.5, second)
		floats.ScaleTo(py.Row(opposite), -1.5, second)
		floats.AddScaled(py.Row(opposite), 0.1, first)
	}
	floats.Scale(scale, px.Data)
	floats.Scale(scale, py.Data)
	return points[T]{dense.Copy(dense.Matrix[T]{}, px), dense.Copy(dense.Matrix[T]{}, py), 3}
}
