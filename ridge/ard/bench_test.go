package ard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

func benchmarkEvaluate[T dense.Float](b *testing.B, typ string) {
	const n, d, m = 20000, 20, 512
	x, y := four[T](n, d, 1, 0.1)
	psi, scales := gaussian[T](b, m, d), make([]float64, d)
	for j := range scales {
		scales[j] = 2
	}
	b.Run(fmt.Sprintf("type=%s/n=%d/d=%d/D=%d", typ, n, d, 2*m), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := ard.Evaluate(b.Context(), psi, ridge.Block[T]{X: x, Y: y}, scales, ridge.Options{Ratio: 0.01})
			require.NoError(b, err)
		}
		b.ReportMetric(3*n*2*m*2*m*1e-9*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
	})
}

// BenchmarkEvaluate is the evidence and its gradient, nearly an iteration of a search.
func BenchmarkEvaluate(b *testing.B) {
	benchmarkEvaluate[float32](b, "float32")
	benchmarkEvaluate[float64](b, "float64")
}

// surface is a function of uniform columns from low to high, with noise.
type surface struct {
	name      string
	low, high []float64
	noise     float64 // standard deviation
	of        func(x []float64) float64
}

// surfaces are a function of 4 of 20 columns, those of [Friedman 1991], and two of engineering: the
// flow through a borehole and the cycle of a piston.
func surfaces() []surface {
	cube := func(d int) (low, high []float64) {
		high = make([]float64, d)
		for j := range high {
			high[j] = 1
		}
		return make([]float64, d), high
	}
	low10, high10 := cube(10)
	low20, high20 := cube(20)
	low, high := []float64{0, 40 * math.Pi, 0, 1}, []float64{100, 560 * math.Pi, 1, 11}
	return []surface{
		{"four", low20, high20, 0.2, func(x []float64) float64 {
			return math.Sin(12*x[0]) + math.Sin(5*x[6]*x[10]) + 1.5*x[19]
		}},
		{"friedman1", low10, high10, 1, func(x []float64) float64 {
			return 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-0.5)*(x[2]-0.5) + 10*x[3] + 5*x[4]
		}},
		{"friedman2", low, high, 125, func(x []float64) float64 {
			return math.Hypot(x[0], x[1]*x[2]-1/(x[1]*x[3]))
		}},
		{"friedman3", low, high, 0.1, func(x []float64) float64 {
			return math.Atan((x[1]*x[2] - 1/(x[1]*x[3])) / x[0])
		}},
		{
			"borehole", []float64{0.05, 100, 63070, 990, 63.1, 700, 1120, 9855},
			[]float64{0.15, 50000, 115600, 1110, 116, 820, 1680, 12045}, 1, func(x []float64) float64 {
				width := math.Log(x[1] / x[0])
				return 2 * math.Pi * x[2] * (x[3] - x[5]) / (width * (1 + 2*x[6]*x[2]/(width*x[0]*x[0]*x[7]) + x[2]/x[4]))
			},
		},
		{
			"piston", []float64{30, 0.005, 0.002, 1000, 90000, 290, 340},
			[]float64{60, 0.020, 0.010, 5000, 110000, 296, 360}, 0.005, func(x []float64) float64 {
				mass, s, v0, k, p, gas := x[0], x[1], x[2], x[3], x[4], x[4]*x[2]/x[6]*x[5]
				a := p*s + 19.62*mass - k*v0/s
				v := s / (2 * k) * (math.Sqrt(a*a+4*k*gas) - a)
				return 2 * math.Pi * math.Sqrt(mass/(k+s*s*gas/(v*v)))
			},
		},
	}
}

func drawSurface[T dense.Float](s surface, n int, seed uint64) (x, y dense.Matrix[T]) {
	rng, point := rand.New(rand.NewPCG(seed, 1)), make([]float64, len(s.low))
	x, y = dense.New[T](n, len(point)), dense.New[T](n, 1)
	for i := range n {
		for j, low := range s.low {
			point[j] = low + (s.high[j]-low)*rng.Float64()
			x.Set(i, j, T(point[j]))
		}
		y.Set(i, 0, T(s.of(point)+s.noise*rng.NormFloat64()))
	}
	return x, y
}

func benchmarkFit[T dense.Float](b *testing.B, typ string) {
	const m = 256
	for _, s := range surfaces() {
		xt, yt := drawSurface[T](s, 5000, 2)
		for _, n := range []int{500, 20000} {
			x, y := drawSurface[T](s, n, 1)
			psi := gaussian[T](b, m, x.Cols)
			b.Run(fmt.Sprintf("function=%s/type=%s/n=%d/d=%d/D=%d", s.name, typ, n, x.Cols, 2*m), func(b *testing.B) {
				var r *ard.Result[T]
				for b.Loop() {
					r = fit(b, psi, x, y, ard.Options{})
				}
				mean, sd := r.Model.Predict(xt)
				inside := 0
				for i, v := range mean.Data {
					if math.Abs(float64(yt.Data[i]-v)) <= 1.6449*float64(sd.Data[i]) {
						inside++
					}
				}
				b.ReportMetric(rmse(r.Model, xt, yt)/s.noise, "rmse/noise")
				b.ReportMetric(float64(inside)/float64(yt.Rows), "in-90%-bands")
			})
		}
	}
}

// BenchmarkFit learns scales, and measures errors at 5000 other rows and how many of these lie in
// the bands of 90 %.
func BenchmarkFit(b *testing.B) {
	benchmarkFit[float32](b, "float32")
	benchmarkFit[float64](b, "float64")
}
