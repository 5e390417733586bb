package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// friedman returns n rows of Friedman's first function of the first five of d uniform variables
// [Friedman 1991], with noise of variance 1.
func friedman[T dense.Float](n, d int, seed uint64) (x, y dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y = dense.New[T](n, d), dense.New[T](n, 1)
	for i := range n {
		u := make([]float64, d)
		for j := range u {
			u[j] = rng.Float64()
			x.Set(i, j, T(u[j]))
		}
		f := 10*math.Sin(math.Pi*u[0]*u[1]) + 20*(u[2]-.5)*(u[2]-.5) + 10*u[3] + 5*u[4]
		y.Set(i, 0, T(f+rng.NormFloat64()))
	}
	return x, y
}

// gaussian returns the features of the Gaussian kernel with m orthogonal frequencies.
func gaussian[T dense.Float](t testing.TB, m, d int, lengthScale float64, seed uint64) rff.Map[T] {
	src := rand.NewPCG(seed, 2)
	w := must.Have(orf.Draw[T](orf.GramSchmidt{}, m, d, src))
	phi := must.Have(rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w))
	return phi
}

// process is the exact Gaussian process of a kernel, by dense solves with n×n matrices [Rasmussen &
// Williams 2006, chapter 2].
type process struct {
	mean, evidence []float64 // a column each
	covariance     *mat.Dense
}

// exact predicts at the rows of z with the kernel s²·φᵀφ. weights may be nil.
func exact(t *testing.T, phi rff.Map[float64], x, y, z dense.Matrix[float64], weights []float64, noise, signal float64, intercept bool) process {
	return processOf(t, func(a, b dense.Matrix[float64]) *mat.Dense {
		p, q := phi.Transform(dense.Matrix[float64]{}, a), phi.Transform(dense.Matrix[float64]{}, b)
		k := mat.NewDense(a.Rows, b.Rows, nil)
		k.Mul(mat.NewDense(p.Rows, p.Cols, p.Data), mat.NewDense(q.Rows, q.Cols, q.Data).T())
		return k
	}, x, y, z, weights, noise, signal, intercept)
}

// processOf predicts at the rows of z with the kernel s²·k, where gram returns matrices of k.
func processOf(t *testing.T, gram func(a, b dense.Matrix[float64]) *mat.Dense, x, y, z dense.Matrix[float64], weights []float64, noise, signal float64, intercept bool) process {
	n := x.Rows
	all := func(a, b dense.Matrix[float64]) *mat.Dense {
		k := gram(a, b)
		k.Scale(signal, k)
		return k
	}
	c := mat.NewSymDense(n, nil)
	k := all(x, x)
	for i := range n {
		for j := i; j < n; j++ {
			c.SetSym(i, j, k.At(i, j))
		}
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		c.SetSym(i, i, c.At(i, i)+noise/w)
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(c))
	solve := func(b mat.Matrix) *mat.Dense {
		var s mat.Dense
		require.NoError(t, chol.SolveTo(&s, b))
		return &s
	}
	targets := mat.NewDense(n, y.Cols, append([]float64(nil), y.Data...))
	ones := mat.NewDense(n, 1, nil)
	for i := range n {
		ones.Set(i, 0, 1)
	}
	kz, kzz := all(x, z), all(z, z)
	var p process
	var cross mat.Dense
	cross.Mul(kz.T(), solve(kz))
	kzz.Sub(kzz, &cross)
	p.covariance = kzz
	inverseOnes := solve(ones)
	total := mat.Dot(ones.ColView(0), inverseOnes.ColView(0)) // 1ᵀC⁻¹1
	constant := make([]float64, y.Cols)
	if intercept {
		for j := range constant {
			constant[j] = mat.Dot(inverseOnes.ColView(0), targets.ColView(j)) / total
			for i := range n {
				targets.Set(i, j, targets.At(i, j)-constant[j])
			}
		}
		// R = 1 − 1ᵀC⁻¹K_z, and the covariance grows by RᵀR/(1ᵀC⁻¹1).
		var r mat.Dense
		r.Mul(inverseOnes.T(), kz)
		for a := range z.Rows {
			for b := range z.Rows {
				kzz.Set(a, b, kzz.At(a, b)+(1-r.At(0, a))*(1-r.At(0, b))/total)
			}
		}
	}
	inverse := solve(targets)
	var mean mat.Dense
	mean.Mul(kz.T(), inverse)
	for i := range z.Rows {
		for j := range y.Cols {
			p.mean = append(p.mean, mean.At(i, j)+constant[j])
		}
	}
	for j := range y.Cols {
		e := mat.Dot(targets.ColView(j), inverse.ColView(j)) + chol.LogDet()
		if intercept {
			e += math.Log(total) + float64(n-1)*math.Log(2*math.Pi)
		} else {
			e += float64(n) * math.Log(2*math.Pi)
		}
		p.evidence = append(p.evidence, -e/2)
	}
	return p
}

// The model is the exact Gaussian process with the kernel of its features: mean, covariance,
// standard deviations and evidence, with and without weights and an intercept.
func TestModelIsTheGaussianProcess(t *testing.T) {
	const n, d, m, noise, signal = 300, 4, 100, 0.7, 9.0
	x, y := friedman[float64](n, 5, 1)
	x = x.ColRange(0, d)
	first := y
	y = dense.New[float64](n, 2)
	for i := range n {
		y.Set(i, 0, first.At(i, 0))
		y.Set(i, 1, 1000-x.At(i, 0))
	}
	z, _ := friedman[float64](40, 5, 2)
	z = z.ColRange(0, d)
	phi := gaussian[float64](t, m, d, 0.8, 3)
	varied := make([]float64, n)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range varied {
		varied[i] = 0.2 + rng.Float64()
	}
	for _, intercept := range []bool{true, false} {
		for _, weights := range [][]float64{nil, varied} {
			sums := must.Have(ridge.NewSums(phi, 2))
			require.NoError(t, sums.Add(x, y, weights))
			model := must.Have(sums.Fit(t.Context(), ridge.Options{Noise: noise, Prior: signal, NoIntercept: !intercept}))
			want := exact(t, phi, x, y, z, weights, noise, signal, intercept)
			mean, sd := model.Posterior(z)
			_, spread := model.Predict(z)
			covariance := model.Covariance(z, 0)
			for i := range z.Rows {
				for j := range 2 {
					w := want.mean[2*i+j]
					assert.InDelta(t, w, mean.At(i, j), 1e-9*math.Max(1, math.Abs(w)))
				}
				assert.InDelta(t, want.covariance.At(i, i), sd.At(i, 0)*sd.At(i, 0), 1e-9)
				assert.InDelta(t, want.covariance.At(i, i)+noise, spread.At(i, 0)*spread.At(i, 0), 1e-9)
				for l := range z.Rows {
					assert.InDelta(t, want.covariance.At(i, l), covariance.At(i, l), 1e-9)
				}
			}
			assert.Equal(t, mean, model.Mean(dense.Matrix[float64]{}, z))
			total := want.evidence[0] + want.evidence[1]
			assert.InEpsilon(t, total, model.LogEvidence(), 1e-9)
		}
	}
}
