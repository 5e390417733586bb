package performer_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// logarithms is the positive map of the features e^x_f: points are log-features.
func logarithms[T dense.Float](m int) rff.Map[T] {
	return exponential[T]{logRowMap[T]{rowMap[T]{in: m, out: m, row: func(phi, x []T) { copy(phi, x) }}}}
}

// scene is log-features of queries and keys beyond ±maxLog.
type scene[T dense.Float] struct {
	name string
	q, k dense.Matrix[T]
}

// scenes returns scenes of n tokens with m features, of which only log-features far apart
// or in the range of ordinary ones tell weights apart, so that T can hold what does.
func scenes[T dense.Float](n, m int) []scene[T] {
	rng := rand.New(densetest.Source(300))
	noise := func(sd float64) dense.Matrix[float64] { return densetest.Normal[float64](rng, n, m, 0, sd) }
	with := func(x dense.Matrix[float64], change func(i, f int, v float64) float64) dense.Matrix[T] {
		for i := range n {
			for f := range m {
				x.Row(i)[f] = change(i, f, x.At(i, f))
			}
		}
		return dense.Copy(dense.Matrix[T]{}, x)
	}
	same := func(_, _ int, v float64) float64 { return v }
	var all []scene[T]
	for _, size := range []float64{2e8, 1e12, 1e20, densetest.Largest[T]() * 0.999} {
		for _, c := range []float64{size, -size} {
			add := func(name string, q, k dense.Matrix[T]) {
				all = append(all, scene[T]{fmt.Sprintf("%s %.4g", name, c), q, k})
			}
			most := densetest.Largest[T]()
			plus := func(_, _ int, v float64) float64 { return min(max(c+v, -most), most) }
			add("queries and keys", with(noise(3), plus), with(noise(3), plus))
			add("queries", with(noise(3), plus), with(noise(3), func(_, f int, v float64) float64 { return v + 150*float64(f) }))
			add("keys", with(noise(3), same), with(noise(3), plus))
			add("apart", with(noise(size/1e5), plus), with(noise(size/1e5), plus))
			add("opposite", with(noise(3), func(_, f int, v float64) float64 { return c/(1+float64(f)/8) + v }),
				with(noise(3), func(_, f int, v float64) float64 { return v - c/(1+float64(f)/8) }))
			add("mixed", with(noise(3), func(i, f int, v float64) float64 {
				if (i+f)%5 == 2 {
					return plus(i, f, v*size/1e6)
				}
				return v
			}), with(noise(3), func(i, f int, v float64) float64 {
				switch {
				case i > 0 && (i+2*f)%11 == 4:
					return math.Inf(-1)
				case i > n/2 && (i+f)%7 == 3:
					return plus(i, f, v*size/1e6)
				}
				return v
			}))
		}
	}
	return all
}

// truth is the O(L²) ground truth for any log-features: p[i][j·m+f] is what feature f gives
// key j of the weight of query i, in float64 from sums of logarithms that are not rounded.
type truth struct {
	p            [][]float64
	m            int
	factor, lost float64 // relative error of a weight, and the greatest one that may vanish
}

func truthOf[T dense.Float](a performer.Linear[T], q, k dense.Matrix[T]) *truth {
	// An exponential whose result is no zero has an argument of at most 104 or 746, and
	// queries and keys have one each; ordinary log-features of scenes are below 500.
	reach := of[T](104.0, 746) + 500
	t := &truth{m: performer.InsideOf(a).M, factor: (float64(performer.InsideOf(a).M+2*k.Rows+16) + 4*reach) * 2 * densetest.Roundoff[T](), lost: float64(performer.InsideOf(a).M) * of[T](0x1p-90, 0x1p-770)}
	fq := exactly(performer.InsideOf(a).Engine.Features.Queries(dense.Matrix[T]{}, q))
	fk := exactly(performer.InsideOf(a).Engine.Features.Keys(dense.Matrix[T]{}, k))
	for i, x := range fq {
		n := k.Rows
		if performer.InsideOf(a).Options.Causal {
			n = i + 1
		}
		sums, top := make([]*big.Float, n*performer.InsideOf(a).M), (*big.Float)(nil)
		for j := range n {
			for f, y := range fk[j] {
				if x[f] == nil || y == nil {
					continue
				}
				s := new(big.Float).Add(x[f], y)
				if sums[j*performer.InsideOf(a).M+f] = s; top == nil || s.Cmp(top) > 0 {
					top = s
				}
			}
		}
		p, total := make([]float64, len(sums)), 0.0
		var below big.Float
		for at, s := range sums {
			if s != nil {
				x, _ := below.Sub(s, top).Float64()
				p[at] = math.Exp(x)
				total += p[at]
			}
		}
		for at := range p {
			p[at] /= total
		}
		t.p = append(t.p, p)
	}
	return t
}

// truths are those of scenes, which several tests look at.
var truths sync.Map

// truth is truthOf for attention with the features of logarithms.
func (s scene[T]) truth(a performer.Linear[T]) *truth {
	name := fmt.Sprintf("%T, %d queries, %s, causal %v", s, s.q.Rows, s.name, performer.InsideOf(a).Options.Causal)
	if known, ok := truths.Load(name); ok {
		return known.(*truth)
	}
	t := truthOf(a, s.q, s.k)
	truths.Store(name, t)
	return t
}

// of returns single for float32, double for float64.
func of[T dense.Float](single, double float64) float64 {
	if densetest.Roundoff[T]() > 0x1p-50 {
		return single
	}
	return double
}

// exactly returns the elements of m, nil for −Inf, wide enough for exact sums and differences.
func exactly[T dense.Float](m dense.Matrix[T]) [][]*big.Float {
	precision := uint(of[T](320, 2200))
	rows := make([][]*big.Float, m.Rows)
	for i := range rows {
		rows[i] = make([]*big.Float, m.Cols)
		for f, x := range m.Row(i) {
			if !math.IsInf(float64(x), -1) {
				rows[i][f] = new(big.Float).SetPrec(precision).SetFloat64(float64(x))
			}
		}
	}
	return rows
}

// weight returns the weight of query i for key j.
func (t *truth) weight(i, j int) float64 {
	sum := 0.0
	for _, p := range t.p[i][j*t.m : (j+1)*t.m] {
		sum += p
	}
	return sum
}

// attend returns the outputs for values v and a bound on the error of each.
func (t *truth) attend(v dense.Matrix[float64]) (out, tol dense.Matrix[float64]) {
	out, tol = dense.New[float64](len(t.p), v.Cols), dense.New[float64](len(t.p), v.Cols)
	for i := range t.p {
		for j := range len(t.p[i]) / t.m {
			w := t.weight(i, j)
			for c, x := range v.Row(j) {
				out.Row(i)[c] += w * x
				tol.Row(i)[c] += (2*t.factor*w + t.lost) * math.Abs(x)
			}
		}
	}
	return out, tol
}

// requireAverages fails unless each element of got lies between the least and the greatest
// value of its column, to rounding.
func requireAverages[T dense.Float](t *testing.T, got, v dense.Matrix[T], format string, args ...any) {
	t.Helper()
	for c := range v.Cols {
		lo, hi := math.Inf(1), math.Inf(-1)
		for j := range v.Rows {
			lo, hi = min(lo, float64(v.At(j, c))), max(hi, float64(v.At(j, c)))
		}
		slack := float64(v.Rows+16) * 2 * densetest.Roundoff[T]() * max(math.Abs(lo), math.Abs(hi))
		for i := range got.Rows {
			x := float64(got.At(i, c))
			require.True(t, lo-slack <= x && x <= hi+slack, "%s: row %d is %v, want an average of %v … %v", fmt.Sprintf(format, args...), i, x, lo, hi)
		}
	}
}
