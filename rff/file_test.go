package rff_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// written is a map and its kind: the name of the Spec, or the function that makes it.
type written[T dense.Float] struct {
	kind string
	m    rff.Map[T]
}

// allProjections are all kinds of frequencies, m of R^d.
func allProjections[T dense.Float](t testing.TB, m, d int) []orf.Projection[T] {
	own, err := orf.FromMatrix(points[T](12, m, d, 1))
	require.NoError(t, err)
	all := []orf.Projection[T]{own}
	for _, e := range []orf.Ensemble{
		orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}, orf.Hadamard{}, orf.Givens{}, orf.Halton{},
	} {
		w, err := orf.Draw[T](e, m, d, exprand.NewSource(7))
		require.NoError(t, err)
		all = append(all, w)
	}
	return all
}

// fileMaps are maps of every kind, over all kinds of frequencies and kernels. Most have m
// frequencies of R^d.
func fileMaps[T dense.Float](t testing.TB, m, d int) []written[T] {
	var all []written[T]
	add := func(kind string, f rff.Map[T], err error) rff.Map[T] {
		require.NoError(t, err, kind)
		all = append(all, written[T]{kind, f})
		return f
	}
	draw := func(s rff.Spec, w orf.Projection[T]) rff.Map[T] {
		f, err := rff.Draw(s, w)
		return add(kindOf(s), f, err)
	}

	src := exprand.NewSource(3)
	x, y := fitPoints[T](d)
	for _, w := range allProjections[T](t, m, d) {
		for _, r := range randomMaps[T]() {
			if r.name != "laplacian" {
				draw(r.spec(d, src), w)
			}
		}
	}

	heavy, err := orf.Draw[T](orf.Cauchy{}, m, d, src)
	require.NoError(t, err)
	draw(rff.Laplacian{LengthScale: lengthScale}, heavy)
	draw(rff.Identity{D: d}, nil)
	draw(rff.Quadratic{D: d}, nil)
	elu := draw(rff.ELU{D: d}, nil)
	landmarks := points[T](8, 11, d, 1)
	for i, v := range landmarks.Data {
		landmarks.Data[i] = max(v, -v)
	}
	for _, k := range fileKernels(d) {
		e, err := rff.Nystroem(k, landmarks)
		add("Nystroem", e, err)
	}
	e, err := rff.Spectral(kernels.Laplacian{}, landmarks, 6)
	add("Spectral", e, err)

	narrow := narrowing[T](d)
	draw(narrow, nil)
	draw(must.Have(rff.Standardise(points[T](9, 40, d, 1))), nil)
	square := rff.Affine{A: wide(points[T](10, d, d, 0.5))}
	linear := draw(square, nil)
	affine := rff.Affine{A: wide(points[T](10, d+2, d, 0.5)), Offset: wide(points[T](11, 1, d+2, 1)).Data}
	draw(affine, nil)

	// Maps of maps: of one that is paired, of one side of it, of a map of maps.
	w, err := orf.Draw[T](orf.Hadamard{}, m, d, src)
	require.NoError(t, err)
	paired, err := rff.Draw(must.Have(rff.FitSADERF(x, y, 1)), w)
	require.NoError(t, err)
	keys := add("Keys", rff.Keys(paired), nil)
	one, err := rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)
	require.NoError(t, err)
	for _, inner := range []rff.Map[T]{one, paired, keys} {
		f, err := rff.Centred(inner, points[T](12, 1, d, 1).Data, nil)
		add("Keys", rff.Keys(add("Centred", f, err)), nil)
	}
	for _, inner := range []rff.Map[T]{elu, paired, keys} {
		f, err := rff.Compose(square, inner)
		add("Compose", f, err)
		f, err = rff.Sum([]rff.Map[T]{one, inner, linear}, []float64{0.5, 1, 0})
		sum := add("Sum", f, err)
		if sum != rff.Keys(sum) {
			add("Keys", rff.Keys(sum), nil)
		}
		f, err = rff.Sum([]rff.Map[T]{sum}, []float64{3})
		add("Sum", f, err)
	}
	f, err := rff.Gradients(one, points[float64](13, m, 2, 1))
	add("Gradients", f, err)
	f, err = rff.Compose(narrow, must.Have(rff.Draw[T](rff.Quadratic{D: d - 1}, nil)))
	add("Compose", f, err)
	f, err = rff.Compose(affine, must.Have(rff.Draw[T](rff.Identity{D: d + 2}, nil)))
	add("Compose", f, err)
	return all
}

// kindOf returns the name of the type of s.
func kindOf(s rff.Spec) string { return reflect.TypeOf(s).Name() }

// fileKernels are kernels of every type on R^d.
func fileKernels(d int) []kernels.Kernel {
	return []kernels.Kernel{
		kernels.DotProduct{}, kernels.Softmax{Gamma: 0.1}, kernels.Polynomial{Degree: 2, Offset: 1}, kernels.ELU{},
		kernels.Boxes{Thresholds: dense.New[float64](d, 2), Weights: dense.Of(d, 2, slices.Repeat([]float64{1}, 2*d))},
		kernels.Gaussian{LengthScale: 1.0 / 3}, kernels.Laplacian{}, kernels.Matern{Nu: 2.5},
		kernels.RationalQuadratic{Alpha: 2}, kernels.Angular{}, kernels.ArcCosine{Order: 1},
		kernels.Sum{kernels.Gaussian{}, kernels.Product{kernels.Laplacian{}, kernels.DotProduct{}}},
		kernels.Product{kernels.Laplacian{}, kernels.ELU{}}, kernels.Scaled{K: kernels.DotProduct{}, By: 3},
		kernels.Pullback{K: kernels.Gaussian{}, A: points[float64](5, 2, d, 1), Centre: make([]float64, d)},
		kernels.Pullback{K: kernels.Gaussian{}, A: points[float64](6, 2, d, 1), Offset: []float64{1, 2}},
	}
}

func testFiles[T dense.Float](t *testing.T) {
	for _, w := range fileMaps[T](t, 20, 5) {
		sameMaps(t, w.m, reread(t, w.m))
		if t.Failed() {
			t.Fatalf("%s: %v", w.kind, w.m)
		}
	}
}

func TestFiles(t *testing.T) {
	densetest.Both(t, testFiles[float32], testFiles[float64])
}

// reread writes m, reads it, and writes what was read: the bytes are the same.
func reread[T dense.Float](t *testing.T, m rff.Map[T]) rff.Map[T] {
	t.Helper()
	var file, second bytes.Buffer
	require.NoError(t, rff.Write(&file, m))
	again, err := rff.Read[T](bytes.NewReader(file.Bytes()))
	require.NoError(t, err, "%v", m)
	require.NoError(t, rff.Write(&second, again))
	require.True(t, bytes.Equal(file.Bytes(), second.Bytes()), "%v", m)
	return again
}

// sameMaps compares all that maps, their keys and their laws say, bit for bit.
func sameMaps[T dense.Float](t *testing.T, want, got rff.Map[T]) {
	t.Helper()
	sameSides(t, want, got)
	assert.Equal(t, want == rff.Keys(want), got == rff.Keys(got), "is it paired?")
	sameSides(t, rff.Keys(want), rff.Keys(got))
}

func sameSides[T dense.Float](t *testing.T, want, got rff.Map[T]) {
	t.Helper()
	require.IsType(t, want, got)
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
	assert.Equal(t, want.Kernel(), got.Kernel())
	in, out := want.Dims()
	x, g := points[T](1, 9, in, 0.5), points[T](2, 9, out, 1)
	for i, v := range x.Data {
		x.Data[i] = max(v, -v) // histograms have no negative numbers
	}
	none := dense.Matrix[T]{}
	assert.Equal(t, want.Transform(none, x), got.Transform(none, x))
	if log, ok := want.(rff.LogMap[T]); ok {
		assert.Equal(t, log.LogTransform(none, x), got.(rff.LogMap[T]).LogTransform(none, x))
	}
	if back, ok := want.(rff.Differentiable[T]); ok && back.CanBackward() == nil {
		assert.Equal(t, back.Backward(none, x, g), slopes(got).Backward(none, x, g))
	}
	if back, ok := want.(rff.DifferentiableLog[T]); ok && back.CanBackward() == nil {
		assert.Equal(t, back.LogBackward(none, x, g), got.(rff.DifferentiableLog[T]).LogBackward(none, x, g))
	}
	a, known := want.(mse.Lawful).Law().Errors()
	b, alsoKnown := got.(mse.Lawful).Law().Errors()
	assert.Equal(t, known, alsoKnown)
	if known && a.MSE != nil {
		u, v := dense.Copy(dense.Matrix[float64]{}, x.RowRange(0, 1)).Row(0), dense.Copy(dense.Matrix[float64]{}, x.RowRange(1, 2)).Row(0)
		assert.Equal(t, math.Float64bits(a.MSE(u, v)), math.Float64bits(b.MSE(u, v)))
	}
	assert.Equal(t, a.Name, b.Name)
}

// TestFilesOfEveryKind fails where fileMaps has no map of a kind of the archive.
//
//ci:portable
func TestFilesOfEveryKind(t *testing.T) {
	kinds, kernelKinds := map[string]bool{}, map[string]bool{}
	for _, w := range fileMaps[float64](t, 6, 3) {
		kinds[w.kind] = true
	}
	for _, k := range fileKernels(3) {
		kernelKinds[fmt.Sprintf("%T", k)[len("kernels."):]] = true
	}
	made := []string{"Centred", "Compose", "Gradients", "Keys", "Nystroem", "Spectral", "Sum"}
	assert.ElementsMatch(t, append(registry.Names[rff.Spec](), made...), slices.Collect(maps.Keys(kinds)))
	assert.ElementsMatch(t, append(made, "Drawn"), registry.Names[rff.Map[float32]]())
	assert.ElementsMatch(t, append(made, "Drawn"), registry.Names[rff.Map[float64]]())
	assert.ElementsMatch(t, slices.Collect(maps.Keys(kernelKinds)), registry.Names[kernels.Kernel]())
}

// ownKernel, ownMap and ownProjection are not of this library.
type ownKernel struct{ kernels.Gaussian }

type ownMap struct{ rff.Map[float64] }

type ownProjection struct{ orf.Projection[float64] }

func TestMapsThatCannotBeWritten(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 4, 2, exprand.NewSource(1))
	require.NoError(t, err)
	own := newMap(w, nil, func(t float64) float64 { return t })
	identity, err := rff.Draw[float64](rff.Identity{D: 2}, nil)
	require.NoError(t, err)
	over, err := rff.Draw[float64](rff.Gaussian{LengthScale: 1}, ownProjection{w})
	require.NoError(t, err)
	embedding, err := rff.Nystroem[float64](kernels.Sum{ownKernel{}, kernels.Gaussian{}}, points[float64](1, 3, 2, 1))
	require.NoError(t, err)
	inside, err := rff.Sum([]rff.Map[float64]{own}, []float64{2})
	require.NoError(t, err)
	sum, err := rff.Sum([]rff.Map[float64]{identity, ownMap{identity}}, []float64{1, 1})
	require.NoError(t, err)
	deep := rff.Map[float64](identity)
	for range 64 {
		deep, err = rff.Sum([]rff.Map[float64]{deep}, []float64{2})
		require.NoError(t, err)
	}
	of := strings.Repeat(".maps.0", 64)
	for _, c := range []struct {
		m    rff.Map[float64]
		want string
	}{
		{nil, "rff: m is nil, want a map"},
		{own, "rff: map: New(): R^2 → R^4 is made of functions, which no file holds"},
		{inside, "rff: map.maps.0: New(): R^2 → R^4 is made of functions, which no file holds"},
		{ownMap{identity}, "rff: map is a rff_test.ownMap, not of this library, and cannot be written"},
		{sum, "rff: map.maps.1 is a rff_test.ownMap, not of this library, and cannot be written"},
		{over, "rff: map.w is a rff_test.ownProjection, not of this library, and cannot be written"},
		{embedding, "rff: map.k.terms.0 is a rff_test.ownKernel, not of this library, and cannot be written"},
		{deep, "rff: map" + of + " is more than 64 values deep"},
	} {
		var file bytes.Buffer
		assert.EqualError(t, rff.Write(&file, c.m), c.want)
		assert.Zero(t, file.Len())
	}
}
