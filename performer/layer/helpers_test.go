package layer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// eps returns the unit roundoff of T.
func eps[T dense.Float]() float64 {
	if _, ok := any(T(0)).(float32); ok {
		return 0x1p-24
	}
	return 0x1p-53
}

// bothTypes runs a test for float32 and float64.
func bothTypes(t *testing.T, single, double func(t *testing.T)) {
	t.Run("type=float32", single)
	t.Run("type=float64", double)
}

// source returns the source of a test with this seed.
func source(seed uint64) rand.Source { return exprand.NewSource(seed) }

// must returns v, and panics if there is an error.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// gaussian returns an r×c matrix of independent normal numbers.
func gaussian[T dense.Float](rng *rand.Rand, r, c int, mean, sd float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(mean + sd*rng.NormFloat64())
	}
	return m
}

// filled returns an r×c matrix whose elements are all x.
func filled[T dense.Float](r, c int, x T) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = x
	}
	return m
}

// frequencies returns m Gram–Schmidt frequencies of R^d.
func frequencies[T dense.Float](m, d int) orf.Projection[T] {
	return must(orf.Draw[T](orf.GramSchmidt{}, m, d, source(1)))
}

// positive returns softmax features with m positive features of R^d.
func positive[T dense.Float](m, d int) rff.Map[T] {
	return must(rff.SoftmaxPositive(frequencies[T](m, d), 1))
}

// linear returns linear attention with the features of phi.
func linear[T dense.Float](phi rff.Map[T], opts performer.Options) *performer.Attention[T] {
	return must(performer.New(phi, opts))
}

// batch returns attention of so many heads.
func batch[T dense.Float](heads, keyHeads int, forms ...performer.Form[T]) *performer.Batch[T] {
	return must(performer.NewBatch(heads, keyHeads, forms...))
}

// exactBatch returns exact attention of so many heads.
func exactBatch[T dense.Float](heads, keyHeads int) *performer.Batch[T] {
	return batch[T](heads, keyHeads, performer.Exact[T]{})
}

// everyForm returns linear and exact attention, normalised or not, causal or not, with positive
// features, elu+1, and the faster of two forms.
func everyForm[T dense.Float](d int) []performer.Form[T] {
	var all []performer.Form[T]
	for _, causal := range []bool{false, true} {
		for _, unnormalised := range []bool{false, true} {
			o := performer.Options{Causal: causal, Unnormalised: unnormalised}
			all = append(all, linear(positive[T](32, d), o),
				performer.Exact[T]{Causal: causal, Unnormalised: unnormalised})
		}
		elu := linear[T](must(rff.ELU[T](d)), performer.Options{Causal: causal})
		all = append(all, elu, must(performer.NewAuto(elu, performer.Exact[T]{Causal: causal})))
	}
	return all
}

// underived returns a map of R^d without derivatives.
func underived[T dense.Float](d int) rff.Map[T] { return opaque[T]{must(rff.Identity[T](d))} }

type opaque[T dense.Float] struct{ rff.Map[T] }

// fill sets all elements of x to v.
func fill[T dense.Float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// isZero reports whether all elements of x are zero.
func isZero[T dense.Float](x []T) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// identical reports whether a and b agree in every bit, NaN being equal to NaN.
func identical[T dense.Float](a, b dense.Matrix[T]) bool {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return false
	}
	for i := range a.Rows {
		for j, x := range a.Row(i) {
			y := b.At(i, j)
			if x != x && y != y {
				continue
			}
			if x != y || math.Signbit(float64(x)) != math.Signbit(float64(y)) {
				return false
			}
		}
	}
	return true
}

// requireClose fails unless got is within tol of want everywhere.
func requireClose[T dense.Float](t *testing.T, want, tol dense.Matrix[float64], got dense.Matrix[T], format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	require.Equal(t, [2]int{want.Rows, want.Cols}, [2]int{got.Rows, got.Cols}, what)
	for i := range want.Rows {
		for j := range want.Cols {
			if d := math.Abs(want.At(i, j) - float64(got.At(i, j))); !(d <= tol.At(i, j)) {
				require.Failf(t, "too far", "%s: (%d, %d) is %v, want %v ± %.2g",
					what, i, j, got.At(i, j), want.At(i, j), tol.At(i, j))
			}
		}
	}
}

// allocations returns how often three calls of f allocate when they have settled: pools
// fill up while calls meet other processors than before.
func allocations(processors int, f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	var before, after runtime.MemStats
	for range 100 {
		runtime.ReadMemStats(&before)
		for range 3 {
			f()
		}
		runtime.ReadMemStats(&after)
		if after.Mallocs == before.Mallocs {
			return 0
		}
	}
	return after.Mallocs - before.Mallocs
}
