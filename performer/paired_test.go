package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// New takes the map of keys from a map that is Paired: the mean of the unnormalised weights
// over draws is the kernel that the map names, within 4 standard errors. The map of queries
// for the keys as well is off by far more.
func TestNewTakesTheMapOfKeys(t *testing.T) {
	densetest.Both(t, testNewTakesTheMapOfKeys[float32], testNewTakesTheMapOfKeys[float64])
}

func testNewTakesTheMapOfKeys[T dense.Float](t *testing.T) {
	const d, m, draws, scale = 4, 32, 600, 0.5
	rng := rand.New(densetest.Source(461))
	// Coordinates of different sizes, and queries unlike keys, tell the two maps apart.
	q, k := rowsOf[T](rng, 40, d), rowsOf[T](rng, 40, d)
	for i := range 40 {
		q.Row(i)[0] *= 0.3
		k.Row(i)[0] += 0.4
		k.Row(i)[1] *= 0.2
	}
	x, y := dense.Of(1, d, []T{0.5, -1, 0.5, 0.2}), dense.Of(1, d, []T{1, 0.3, 0.5, -0.5})
	for name, draw := range map[string]func(w orf.Projection[T]) rff.Map[T]{
		"SADERF": func(w orf.Projection[T]) rff.Map[T] {
			return must.Have(rff.Draw(must.Have(rff.FitSADERF(q, k, scale)), w))
		},
		"ADERF": func(w orf.Projection[T]) rff.Map[T] {
			return must.Have(rff.Draw(must.Have(rff.FitADERF(q, k, scale)), w))
		},
	} {
		var right, wrong []float64
		src := densetest.Source(462)
		for range draws {
			phi := draw(must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, src)))
			weight := func(a performer.Linear[T]) float64 {
				return float64(a.Forward(dense.Matrix[T]{}, x, y, identity[T](1)).At(0, 0))
			}
			right = append(right, weight(must.Have(performer.NewLinear(phi, performer.LinearOptions{Unnormalised: true}))))
			wrong = append(wrong, weight(must.Have(performer.NewLinearOf(phi, phi, performer.LinearOptions{Unnormalised: true}))))
		}
		truth := 0.0
		for i, v := range x.Row(0) {
			truth += scale * float64(v) * float64(y.Row(0)[i])
		}
		z := func(estimates []float64) float64 {
			mean, spread := stat.MeanStdDev(estimates, nil)
			return math.Abs(mean-math.Exp(truth)) / stat.StdErr(spread, draws)
		}
		require.Less(t, z(right), 4.0, name)
		assert.Greater(t, z(wrong), 8.0, "%s: one map for both is found out", name)
	}
}
