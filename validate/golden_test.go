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
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var update = flag.Bool("update", false, "write testdata/predictions.csv anew")

// goldenMap makes a map over frequencies w of R^d, which may be fitted to x and y.
type goldenMap struct {
	name string
	make func(w orf.Projection[float64], x, y dense.Matrix[float64], src rand.Source) (rff.Map[float64], error)
	// ensembles are laws of the frequencies.
	ensembles []orf.Ensemble
}

// fittedSpec returns the function that fits a Spec.
func fittedSpec[S rff.Spec](fit func(x, y dense.Matrix[float64], scale float64) (S, error)) func(x, y dense.Matrix[float64], _ rand.Source) (rff.Spec, error) {
	return func(x, y dense.Matrix[float64], _ rand.Source) (rff.Spec, error) { return fit(x, y, 0.6) }
}

func goldenMaps() (maps []goldenMap) {
	type projection = orf.Projection[float64]
	type points = dense.Matrix[float64]
	const scale, lengthScale, a = 0.6, 1.3, -0.07
	fit := func(name string, spec func(x, y points, src rand.Source) (rff.Spec, error)) {
		maps = append(maps, goldenMap{name, func(w projection, x, y points, src rand.Source) (rff.Map[float64], error) {
			s, err := spec(x, y, src)
			if err != nil {
				return nil, err
			}
			return rff.Draw(s, w)
		}, goldenEnsembles})
	}
	add := func(name string, s rff.Spec) {
		fit(name, func(points, points, rand.Source) (rff.Spec, error) { return s, nil })
	}
	add("Gaussian", rff.Gaussian{LengthScale: lengthScale})
	add("GaussianHyperbolic", rff.GaussianHyperbolic{LengthScale: lengthScale})
	add("GaussianOptimal", rff.GaussianOptimal{LengthScale: lengthScale, A: a})
	add("SoftmaxTrig", rff.SoftmaxTrig{Scale: scale})
	add("SoftmaxPositive", rff.SoftmaxPositive{Scale: scale})
	add("SoftmaxHyperbolic", rff.SoftmaxHyperbolic{Scale: scale})
	add("SoftmaxOptimal", rff.SoftmaxOptimal{Scale: scale, A: a})
	fit("SADERF", fittedSpec(rff.FitSADERF[float64]))
	fit("ADERF", fittedSpec(rff.FitADERF[float64]))
	fit("SDERF", fittedSpec(rff.FitSDERF[float64]))
	add("DotProduct", rff.DotProduct{})
	add("Angular", rff.Angular{})
	for _, nu := range []float64{0.5, 1.5, 2.5} {
		fit(fmt.Sprintf("Matern/%v", nu), func(_, _ points, src rand.Source) (rff.Spec, error) {
			return rff.Matern{Nu: nu, LengthScale: lengthScale, Src: src}, nil
		})
	}
	add("ArcCosine", rff.ArcCosine{})
	square := func(x []float64) float64 {
		var sum float64
		for _, v := range x {
			sum += v * v
		}
		return 1 / (1 + sum)
	}
	own := func(name string, scheme rff.Scheme[float64]) {
		maps = append(maps, goldenMap{name, func(w projection, _, _ points, _ rand.Source) (rff.Map[float64], error) {
			return rff.New(scheme, w)
		}, goldenEnsembles})
	}
	own("New", rff.Scheme[float64]{F: []func(float64) float64{math.Sin, math.Tanh}, H: square})
	own("New/kernel", rff.Scheme[float64]{F: []func(float64) float64{math.Cos}, Kernel: kernels.Gaussian{}})
	add("Laplacian", rff.Laplacian{LengthScale: lengthScale})
	maps[len(maps)-1].ensembles = []orf.Ensemble{orf.Cauchy{}}
	return maps
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
			for _, e := range f.ensembles {
				w := must.Have(goldenFrequencies(e, m, d))
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
		f := must.Have(os.Create(file))
		require.NoError(t, csv.NewWriter(f).WriteAll(got))
		require.NoError(t, f.Close())
	}
	f := must.Have(os.Open(file))
	defer f.Close()
	want := must.Have(csv.NewReader(f).ReadAll())
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
			a := must.Have(strconv.ParseFloat(want[i][j], 64))
			b := must.Have(strconv.ParseFloat(row[j], 64))
			if a == b || math.IsNaN(a) && math.IsNaN(b) {
				continue
			}
			assert.InEpsilon(t, a, b, 1e-9, "%v, column %d", at, j)
		}
	}
}
