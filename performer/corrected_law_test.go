package performer

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/maptest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
)

// replicates returns the number of draws of a statistical test.
func replicates() int {
	if testing.Short() {
		return 4000
	}
	return 20000
}

// Numerators and denominators of Forward have the means of exact attention and the variances of the
// law, over seeds. One processor does the work: there is little in a call.
func TestCorrectedUnbiased(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n, d = 64, 4
	q, k, v := densetest.Decaying[float64](4, 3, d, 2), densetest.Decaying[float64](5, n, d, 2), densetest.Decaying[float64](6, n, 2, 1)
	values := densetest.Filled(n, 3, 1.0)
	dense.Copy(values.ColRange(0, 2), v)
	exact := Exact[float64]{Scale: 0.5, Unnormalised: true}
	truth := exact.Forward(dense.Matrix[float64]{}, q, k, values)
	features := must.Have(rff.SoftmaxPositive(maptest.Frequencies[float64](12, d), 0.5))
	for name, base := range map[string]Form[float64]{
		"landmarks": must.Have(NewLandmarks(exact, 12, densetest.Source(1))), "features": attention(features, LinearOptions{Unnormalised: true}),
	} {
		c := must.Have(NewCorrected(base, CorrectedOptions{3, 8}, densetest.Source(1)))
		variances := c.Variances(q, k, v)
		rng, sums, out := rand.New(densetest.Source(2)), dense.New[float64](3, 3), dense.New[float64](3, 3)
		for range replicates() {
			c.inside().seed = [2]uint64{rng.Uint64(), rng.Uint64()}
			floats.Add(sums.Data, c.Forward(out, q, k, values).Data)
		}
		for at, sum := range sums.Data {
			total := truth.Row(at / 3)[2]
			stderr := total * math.Sqrt(variances.Data[at]/float64(replicates()))
			assert.InDelta(t, truth.Data[at], sum/float64(replicates()), 4*stderr, "%s, %d", name, at)
		}
	}
}
