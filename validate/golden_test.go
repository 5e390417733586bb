package validate

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var update = flag.Bool("update", false, "write testdata/predictions.csv anew")

// goldenMap makes a map over frequencies w of R^d, which may be fitted to x and y.
type goldenMap struct {
	name string
	make func(w orf.Projection[float64], x, y dense.Matrix[float64], src rand.Source) (rff.Map[float64], error)
	// own says that the map draws its own frequencies, so that w has no effect.
	own bool
}

// plainMap is a map that needs only frequencies.
func plainMap[M rff.Map[float64]](name string, make func(w orf.Projection[float64]) (M, error)) goldenMap {
	return goldenMap{name: name, make: func(w orf.Projection[float64], _, _ dense.Matrix[float64], _ rand.Source) (rff.Map[float64], error) {
		return make(w)
	}}
}

func fittedMap[M rff.Map[float64]](name string, make func(w orf.Projection[float64], x, y dense.Matrix[float64], scale float64) (M, error)) goldenMap {
	return goldenMap{name: name, make: func(w orf.Projection[float64], x, y dense.Matrix[float64], _ rand.Source) (rff.Map[float64], error) {
		return make(w, x, y, 0.6)
	}}
}

func ownMap[M rff.Map[float64]](name string, make func(m, d int, src rand.Source) (M, error)) goldenMap {
	return goldenMap{name, func(w orf.Projection[float64], _, _ dense.Matrix[float64], src rand.Source) (rff.Map[float64], error) {
		m, d := w.Shape()
		return make(m, d, src)
	}, true}
}

func goldenMaps() []goldenMap {
	type projection = orf.Projection[float64]
	type points = dense.Matrix[float64]
	const scale, lengthScale, a = 0.6, 1.3, -0.07
	scaled := func(name string, make func(w projection, scale float64) (rff.Map[float64], error), scale float64) goldenMap {
		return plainMap(name, func(w projection) (rff.Map[float64], error) { return make(w, scale) })
	}
	maps := []goldenMap{
		scaled("Gaussian", asMap(rff.Gaussian[float64]), lengthScale),
		{name: "GaussianPhase", make: func(w projection, _, _ points, src rand.Source) (rff.Map[float64], error) {
			return rff.GaussianPhase(w, lengthScale, src)
		}},
		scaled("GaussianPositive", asMap(rff.GaussianPositive[float64]), lengthScale),
		scaled("GaussianHyperbolic", asMap(rff.GaussianHyperbolic[float64]), lengthScale),
		plainMap("GaussianOptimal", func(w projection) (rff.Map[float64], error) { return rff.GaussianOptimal(w, lengthScale, a) }),
		scaled("SoftmaxTrig", asMap(rff.SoftmaxTrig[float64]), scale),
		scaled("SoftmaxPositive", asMap(rff.SoftmaxPositive[float64]), scale),
		scaled("SoftmaxHyperbolic", asMap(rff.SoftmaxHyperbolic[float64]), scale),
		plainMap("SoftmaxOptimal", func(w projection) (rff.Map[float64], error) { return rff.SoftmaxOptimal(w, scale, a) }),
		fittedMap("SADERF", rff.SADERF[float64]),
		fittedMap("ADERF", rff.ADERF[float64]),
		fittedMap("SDERF", rff.SDERF[float64]),
		plainMap("DotProduct", rff.DotProduct[float64]),
		plainMap("Angular", rff.Angular[float64]),
	}
	for _, nu := range []float64{0.5, 1.5, 2.5} {
		maps = append(maps, goldenMap{name: fmt.Sprintf("Matern/%v", nu), make: func(w projection, _, _ points, src rand.Source) (rff.Map[float64], error) {
			return rff.Matern(w, nu, lengthScale, src)
		}})
	}
	for order := range 3 {
		maps = append(maps, plainMap(fmt.Sprintf("ArcCosine/%d", order), func(w projection) (rff.Map[float64], error) { return rff.ArcCosine(w, order) }))
	}
	square := func(x []float64) float64 {
		var sum float64
		for _, v := range x {
			sum += v * v
		}
		return 1 / (1 + sum)
	}
	maps = append(maps,
		plainMap("New", func(w projection) (rff.Map[float64], error) {
			return rff.New(w, rff.Scheme[float64]{F: []func(float64) float64{math.Sin, math.Tanh}, H: square})
		}),
		plainMap("New/kernel", func(w projection) (rff.Map[float64], error) {
			return rff.New(w, rff.Scheme[float64]{F: []func(float64) float64{math.Cos}, Kernel: kernels.Gaussian{}})
		}),
		ownMap("Laplacian", func(m, d int, src rand.Source) (rff.Map[float64], error) {
			return rff.Laplacian[float64](m, d, lengthScale, src)
		}),
	)
	return maps
}

// asMap returns f with the result type Map.
func asMap[M rff.Map[float64]](f func(w orf.Projection[float64], scale float64) (M, error)) func(w orf.Projection[float64], scale float64) (rff.Map[float64], error) {
	return func(w orf.Projection[float64], scale float64) (rff.Map[float64], error) { return f(w, scale) }
}

// goldenEnsembles are laws of frequencies. nil means frequencies of the user.
var goldenEnsembles = []orf.Ensemble{
	orf.IID{}, orf.IID{FixedLength: true}, orf.GramSchmidt{}, orf.GramSchmidt{FixedLength: true}, orf.Simplex{}, orf.Simplex{FixedLength: true},
	orf.Hadamard{}, orf.Hadamard{Factors: 1, FixedLength: true}, orf.Givens{}, orf.Givens{Rotations: 2, FixedLength: true},
	orf.Halton{}, nil,
}

// goldenFrequencies draws m frequencies of R^d.
func goldenFrequencies(e orf.Ensemble, m, d int) (orf.Projection[float64], error) {
	src := rand.NewPCG(1, 2)
	if e == nil {
		return orf.FromMatrix(dense.Of(m, d, normals(m*d, rand.New(src))))
	}
	return orf.Draw[float64](e, m, d, src)
}

func normals(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// goldenPairs returns pairs of points of R^d: at a general angle, near each other, nearly opposite,
// far apart, one of them 0, and beyond the range of exponentials.
func goldenPairs(d int, rng *rand.Rand) (x, y dense.Matrix[float64]) {
	const n = 6
	x, y = dense.Of(n, d, normals(n*d, rng)), dense.Of(n, d, normals(n*d, rng))
	for j := range d {
		y.Set(1, j, x.At(1, j)+1e-4*y.At(1, j))
		y.Set(2, j, 1e-2*y.At(2, j)-x.At(2, j))
		x.Set(3, j, 6*x.At(3, j))
		x.Set(4, j, 0)
		y.Set(5, j, 1e3*y.At(5, j))
	}
	return x, y
}

// relativeError returns the mean squared error over the square of the kernel.
func relativeError(l estimateLaw, x, y []float64) float64 {
	if l.Relative != nil {
		return l.Relative(x, y)
	}
	_, mse, _ := l.at(x, y)
	v := math.Abs(l.kernel.Eval(x, y))
	switch {
	case mse == 0:
		return 0
	case v == 0 || math.IsInf(v, 1):
		return math.Inf(1)
	}
	return mse / v / v
}

// predictions returns a row for each map over each ensemble with a law, at each pair: the mean, the
// mean squared error, the relative error and the law. A map and an ensemble without a law have one
// row with their names.
func predictions(t *testing.T) [][]string {
	digits := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][]string{{"map", "ensemble", "m", "d", "pair", "mean", "mse", "relative", "law"}}
	for _, size := range [][2]int{{10, 4}, {5, 2}} {
		m, d := size[0], size[1]
		rng := rand.New(rand.NewPCG(uint64(d), 9))
		x, y := goldenPairs(d, rng)
		for _, f := range goldenMaps() {
			ensembles := goldenEnsembles
			if f.own {
				ensembles = ensembles[:1]
			}
			for _, e := range ensembles {
				w, err := goldenFrequencies(e, m, d)
				require.NoError(t, err)
				phi, err := f.make(w, x, y, rand.NewPCG(3, 4))
				require.NoError(t, err, "%s over %v", f.name, e)
				at := []string{f.name, fmt.Sprint(e), fmt.Sprint(m), fmt.Sprint(d)}
				l, ok := lawOf(phi, nil)
				if !ok {
					rows = append(rows, append(at, "", "", "", "", ""))
					continue
				}
				pairs := x.Rows
				if l.Moments != nil {
					pairs = 2 // quadrature takes its time
				}
				for i := range pairs {
					p := Theory(phi, nil, x.Row(i), y.Row(i))
					relative := math.NaN()
					if l.kernel != nil {
						relative = relativeError(l, x.Row(i), y.Row(i))
					}
					rows = append(rows, append(at[:4:4], fmt.Sprint(i), digits(p.Mean), digits(p.MSE), digits(relative), p.Law))
				}
			}
		}
	}
	return rows
}

// TestPredictions compares the predictions for all maps over all ensembles with the predictions of
// an earlier version. Platforms differ in the last digits of elementary functions, and cancellation
// magnifies the differences.
func TestPredictions(t *testing.T) {
	const file = "testdata/predictions.csv"
	got := predictions(t)
	if *update {
		f, err := os.Create(file)
		require.NoError(t, err)
		require.NoError(t, csv.NewWriter(f).WriteAll(got))
		require.NoError(t, f.Close())
	}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	want, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i, row := range got {
		if row[5] == "" || i == 0 {
			assert.Equal(t, want[i], row)
			continue
		}
		at := row[:5]
		assert.Equal(t, want[i][:5], at)
		assert.Equal(t, want[i][8], row[8], "%v", at)
		for j := 5; j < 8; j++ {
			a, err := strconv.ParseFloat(want[i][j], 64)
			require.NoError(t, err)
			b, err := strconv.ParseFloat(row[j], 64)
			require.NoError(t, err)
			if a == b || math.IsNaN(a) && math.IsNaN(b) {
				continue
			}
			assert.InEpsilon(t, a, b, 1e-9, "%v, column %d", at, j)
		}
	}
}
