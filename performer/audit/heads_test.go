package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// head has the inputs of attention of one head.
type head struct {
	scale   float64
	q, k, v dense.Matrix[float64]
}

// headsOfKinds returns heads of n tokens of different kinds: points of spheres, words of a text,
// and heads like those of trained transformers, with norms of 9 to 13, scores of spread 2 and more,
// and some queries that see few keys.
func headsOfKinds(rng *rand.Rand, n, d int) map[string]head {
	normal := func(rows int) dense.Matrix[float64] { return densetest.Normal[float64](rng, rows, d, 0, 1) }
	all := make(map[string]head)
	for _, norm := range []float64{1, 2, 4, 8} {
		all[fmt.Sprintf("sphere of radius %v", norm)] = head{1, densetest.Sphere[float64](rng, n, d, norm), densetest.Sphere[float64](rng, n, d, norm), normal(n)}
	}
	// Each token is one of 300 words, the r-th with a frequency of about 1/r.
	words := normal(300)
	for i := range words.Rows {
		for j := range words.Cols {
			words.Row(i)[j] *= 4 / math.Sqrt(1+float64(j))
		}
	}
	z := rand.NewZipf(rng, 1.1, 2, 299)
	x := dense.New[float64](n, d)
	for i := range n {
		copy(x.Row(i), words.Row(int(z.Uint64())))
	}
	all["words"] = head{0, x, x, x}
	q, k := normal(n), normal(n)
	b, c := normal(1), normal(1)
	for i := range n {
		sq, sk := math.Exp(0.3*rng.NormFloat64()), math.Exp(0.3*rng.NormFloat64())
		for j := range d {
			q.Row(i)[j] = 1.2*sq*q.Row(i)[j] + 0.5*b.Row(0)[j]
			k.Row(i)[j] = 1.2*sk*k.Row(i)[j] + 0.5*c.Row(0)[j]
		}
	}
	all["trained"] = head{0, q, k, normal(n)}
	q, k = q.Clone(), k.Clone()
	for i := 0; i < n; i += 1 + rng.IntN(200) {
		for j := range d {
			q.Row(i)[j] *= 3
		}
	}
	all["trained, with sharp queries"] = head{0, q, k, normal(n)}
	q, k = normal(n), normal(n)
	for i := range n {
		sq := math.Sqrt(2) / math.Sqrt(0.2+rng.ExpFloat64())
		for j := range d {
			q.Row(i)[j] *= sq
			k.Row(i)[j] *= math.Sqrt(2)
		}
	}
	all["trained, norms of heavy tails"] = head{0, q, k, normal(n)}
	return all
}

// If an interval contains the error in 95 of 100 samples, more than 26 of 250 samples miss it in
// one of 30,000 seeds. Trigonometric features have denominators near zero, so that at the largest
// norms one row in a thousand may have all of the error, which 31 of 250 intervals miss. Hardly any
// sample of 64 rows shows it. The test ends early after 80 samples with at most 5 misses, or 160
// with at most 10. An interval that misses the error in 45 of 250 samples ends early in one of 200
// seeds.
func TestAuditCoversHeadsOfAllKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	const n, d, audits, drawn = 1024, 64, 250, 64
	none := dense.Matrix[float64]{}
	w := must.Have(orf.Draw[float64](orf.GramSchmidt{}, 256, d, densetest.Source(341)))
	for kind, h := range headsOfKinds(rand.New(densetest.Source(340)), n, d) {
		exact := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: h.scale}}))
		truth, scale := exact.Forward(none, h.q, h.k, h.v), scaleOf(exact.Options().Softmax, d)
		for name, form := range map[string]performer.Attention[float64]{
			"positive features":      must.Have(performer.NewLinear[float64](must.Have(rff.Draw(rff.SoftmaxPositive{Scale: scale}, w)), performer.LinearOptions{})),
			"trigonometric features": must.Have(performer.NewLinear[float64](must.Have(rff.Draw(rff.SoftmaxTrig{Scale: scale}, w)), performer.LinearOptions{})),
			"averages":               average[float64]{},
		} {
			rows := deviations(form.Forward(none, h.q, h.k, h.v), truth)
			want := errorOf(rows).error
			most := 26
			if name == "trigonometric features" && kind == "sphere of radius 8" {
				most = 56
			}
			missed, rng := 0, rand.New(densetest.Source(345))
			for done := range audits {
				if done > 0 && done%80 == 0 && 16*missed <= done {
					break
				}
				if low, high := errorOf(sampled(rows, rowWeights(h.q, false), drawn, rng)).interval(0.95); want < low || want > high {
					missed++
				}
			}
			assert.LessOrEqual(t, missed, most, "%s of a head of kind %s", name, kind)
		}
	}
}
