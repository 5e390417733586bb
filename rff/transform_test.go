package rff_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// Every map keeps the contracts of its interfaces, on any number of processors, and so does its map
// of keys. An infinite coordinate of either sign alone leads to features that are not finite.
func testMapsKeepTheirContracts[T dense.Float](t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, d := range []int{1, 5, 16} {
		maps := exactMaps[T](t, d)
		if d > 1 {
			maps = allMaps[T](t, d)
		}
		for _, r := range randomMaps[T]() {
			maps[r.name] = must.Have(r.draw(20, d, exprand.NewSource(5)))
		}
		maps["gradients"] = must.Have(rff.Gradients(maps["gaussian"], points[float64](3, 40, 2, 1)))
		for _, k := range []kernels.Kernel{kernels.ELU{}, kernels.Laplacian{}} {
			maps[fmt.Sprintf("nystroem of %v", k)] = must.Have(rff.Nystroem(k, points[T](8, 11, d, 1)))
		}
		x := points[T](1, 150, d, 0.7)
		for name, f := range maps {
			sides := []rff.Map[T]{f}
			if keys := rff.Keys(f); keys != f {
				sides = append(sides, keys)
			}
			for i, f := range sides {
				at := fmt.Sprintf("%s, side %d, d = %d", name, i, d)
				assert.NoError(t, conformance.Map(f, x), at)
				runtime.GOMAXPROCS(1)
				want := f.Transform(dense.Matrix[T]{}, x)
				runtime.GOMAXPROCS(5)
				assert.Equal(t, want, f.Transform(dense.Matrix[T]{}, x), at)
				runtime.GOMAXPROCS(before)
				for j := range d {
					for sign := -1; sign <= 1; sign += 2 {
						p := x.RowRange(0, 1).Clone()
						p.Set(0, j, T(math.Inf(sign)))
						phi := f.Transform(dense.Matrix[T]{}, p).Row(0)
						assert.True(t, slices.ContainsFunc(phi, func(v T) bool { return v-v != 0 }), "%s hides %v in coordinate %d", at, p.At(0, j), j)
					}
				}
			}
		}
	}
}

func TestMapsKeepTheirContracts(t *testing.T) {
	densetest.Both(t, testMapsKeepTheirContracts[float32], testMapsKeepTheirContracts[float64])
}

// One frequency, of every sign, so that nothing else could show the infinity.
func TestFlatFunctionsDoNotHideInfinity(t *testing.T) {
	x := dense.Of(2, 1, []float64{math.Inf(1), math.Inf(-1)})
	for seed := range uint64(6) {
		w := must.Have(orf.Draw[float64](orf.IID{}, 1, 1, exprand.NewSource(seed)))
		angular := must.Have(rff.Draw(rff.Angular{}, w))
		relu := must.Have(rff.Draw(rff.ArcCosine{}, w))
		positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
		for _, f := range []rff.Map[float64]{angular, relu, positive} {
			for _, v := range f.Transform(dense.Matrix[float64]{}, x).Data {
				assert.True(t, math.IsNaN(v) || math.IsInf(v, 1), "%v gives %v", f, v)
			}
		}
	}
}

func testTransformAllocations[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("with the race detector a sync.Pool forgets at random")
	}
	x := points[T](1, 1100, 5, 0.3)
	for name, f := range allMaps[T](t, 5) {
		_, out := f.Dims()
		dst := dense.New[T](x.Rows, out)
		for _, g := range []rff.Map[T]{f, rff.Keys(f)} {
			g.Transform(dst, x)
			assert.Zero(t, testing.AllocsPerRun(5, func() { g.Transform(dst, x) }), name)
			if l, ok := g.(rff.LogMap[T]); ok {
				assert.Zero(t, testing.AllocsPerRun(5, func() { l.LogTransform(dst, x) }), name)
			}
		}
	}
}

func TestTransformDoesNotAllocate(t *testing.T) {
	densetest.Both(t, testTransformAllocations[float32], testTransformAllocations[float64])
}
