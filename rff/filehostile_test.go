package rff_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// fileOf returns the bytes of a map.
func fileOf(t testing.TB, m rff.Map[float64]) []byte {
	var file bytes.Buffer
	require.NoError(t, rff.Write(&file, m))
	return file.Bytes()
}

// golden returns the bytes of a golden file.
func golden(t testing.TB, name string) []byte {
	file, err := os.ReadFile(filepath.Join("testdata", name+".safetensors"))
	require.NoError(t, err)
	return file
}

// changed returns the file after a change, with a checksum that fits.
func changed(file []byte, change func(f *safetensors.File)) []byte {
	return must.Have(archive.Changed(file, change))
}

// text changes one of the metadata.
func text(key, value string) func(f *safetensors.File) {
	return func(f *safetensors.File) { f.Metadata[key] = value }
}

// number changes one element of a tensor of float64.
func number(name string, at int, v float64) func(f *safetensors.File) {
	return func(f *safetensors.File) {
		binary.LittleEndian.PutUint64(f.Tensors[name].Data[8*at:], math.Float64bits(v))
	}
}

// integers replaces the first elements of a tensor of the type of v.
func integers(name string, v any) func(f *safetensors.File) {
	return func(f *safetensors.File) { _ = must.Have(binary.Encode(f.Tensors[name].Data, binary.LittleEndian, v)) }
}

// reshape changes the shape of a tensor.
func reshape(name string, dims ...int) func(f *safetensors.File) {
	return func(f *safetensors.File) {
		t := f.Tensors[name]
		t.Shape = dims
		f.Tensors[name] = t
	}
}

// TestChangedFiles has files with checksums that fit and contents that do not.
//
//ci:portable
func TestChangedFiles(t *testing.T) {
	over := func(e orf.Ensemble) []byte {
		w, err := orf.Draw[float64](e, 5, 3, exprand.NewSource(1))
		require.NoError(t, err)
		m, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
		require.NoError(t, err)
		return fileOf(t, m)
	}
	const block = "map.w.blocks.1."
	hadamard, givens := over(orf.Hadamard{}), over(orf.Givens{})
	gaussian := golden(t, "Gaussian")
	for _, c := range []struct {
		file   []byte
		change func(f *safetensors.File)
		want   string
	}{
		{gaussian, text("format", "other"), `rff: metadata: format "other", want "randfeat"`},
		{gaussian, text("version", "1"), `rff: the file has version "1" of the format, this package reads version "3" alone`},
		{gaussian, text("type", "float32"), "rff: the file is of float32, want float64"},
		{gaussian, text("map", "Gauss"), `rff: metadata: "map" is "Gauss", which is unknown`},
		{gaussian, text("map", "nil"), `rff: metadata: "map.ensemble" is unknown`},
		{gaussian, text("map.spec", "Gauss"), `rff: metadata: "map.spec" is "Gauss", which is unknown`},
		{gaussian, func(f *safetensors.File) { f.Metadata["map.spec"] = "nil"; delete(f.Metadata, "map.spec.lengthScale") },
			"rff: map: rff: s is <nil>, want a Spec of this package"},
		{gaussian, text("map.w.ensemble", "Cauchy"), "rff: map: rff: w has the frequencies of orf.Cauchy, which are not those of Gaussian(lengthScale=0.75)"},
		{gaussian, text("map.spec.lengthScale", "short"), `rff: metadata: "map.spec.lengthScale" is "short", want a number`},
		{gaussian, text("map.spec.lengthScale", "-1"), "rff: map: rff: lengthScale = -1, want a positive finite number"},
		{gaussian, text("map.spec.lengthScale", "NaN"), "rff: map: rff: lengthScale = NaN, want a positive finite number"},
		{gaussian, text("map.w", "nil"), "rff: map: rff: w is nil, want a projection"},
		{gaussian, number("map.w.frequencies", 2, math.Inf(1)), "rff: map.w: orf: w has +Inf in row 0, column 2, want finite frequencies"},
		{gaussian, func(f *safetensors.File) {
			f.Tensors["map.w.frequencies"] = safetensors.Tensor{DType: safetensors.F64, Shape: []int{0, 3}}
		}, "rff: map.w: orf: w is 0×3, want at least 1×1"},
		{gaussian, func(f *safetensors.File) {
			f.Tensors["map.w.frequencies"] = safetensors.Tensor{DType: safetensors.F32, Shape: []int{1, 1}, Data: make([]byte, 4)}
		}, `rff: tensor "map.w.frequencies": dtype F32, want F64`},
		{gaussian, func(f *safetensors.File) { delete(f.Tensors, "map.w.frequencies") }, `rff: tensor "map.w.frequencies" is missing`},

		{gaussian, text("map.w", "Structured"), `rff: metadata: "map.w.fixedLength" is missing`},
		{hadamard, func(f *safetensors.File) { clear(f.Tensors); f.Metadata["map.w.blocks"] = "nil" }, "rff: map.w: orf: no blocks, want at least 1"},
		{hadamard, text(block+"rotation.order", "12"), "rff: map.w: orf: block 1 maps R^3 to R^12 by Hadamard(Factors=3), want R^3 to R^4 by Hadamard(Factors=3) as block 0"},
		{hadamard, text(block+"rotation.order", "2"), "rff: map.w.blocks.1.rotation: signs beyond the order 2"},
		{hadamard, text(block+"rotation.order", "0"), "rff: map.w.blocks.1.rotation: 24 bytes of signs of factors of order 0"},
		{hadamard, text(block+"rotation.order", strconv.Itoa(math.MaxInt)), "rff: map.w.blocks.1.rotation: 24 bytes of signs of factors of order " + strconv.Itoa(math.MaxInt)},
		{hadamard, text(block+"rotation.order", "58"), "rff: map.w.blocks.1.rotation: hadamard: Order 58 is not the order of a Hadamard matrix known here"},
		{hadamard, text(block+"rotation.d", "5"), "rff: map.w.blocks.1.rotation: hadamard: Order = 4, want at least d = 5"},
		{hadamard, text(block+"rotation.d", "0"), "rff: map.w.blocks.1.rotation: hadamard: d = 0, want at least 1"},
		{hadamard, text(block+"rotation.d", "2"), "rff: map.w: orf: block 1 maps R^2 to R^4 by Hadamard(Factors=3), want R^3 to R^4 by Hadamard(Factors=3) as block 0"},
		{hadamard, text("map.w.fixedLength", "maybe"), `rff: metadata: "map.w.fixedLength" is "maybe", want a truth value`},
		{hadamard, func(f *safetensors.File) {
			f.Tensors["map.w.blocks.0.rows"], f.Tensors["map.w.blocks.0.lengths"] = f.Tensors[block+"rows"], f.Tensors[block+"lengths"]
		}, "rff: map.w: orf: block 0 has 1 rows and 1 lengths, want 4, or fewer in the last block"},
		{hadamard, integers(block+"rows", []int32{4}), "rff: map.w: orf: rows have 4, want different numbers from 0 to 3"},
		{hadamard, integers("map.w.blocks.0.rows", []int32{1, 1}), "rff: map.w: orf: rows have 1, want different numbers from 0 to 3"},
		{hadamard, number("map.w.blocks.0.lengths", 1, math.NaN()), "rff: map.w: orf: lengths[1] = NaN, want a finite number"},
		{givens, integers(block+"product.axes", []int32{0, 3}), "rff: map.w.blocks.1.product: rotation 0 of axes 0 and 3, want two of 3"},
		{givens, integers(block+"product.axes", []int32{2, 2}), "rff: map.w.blocks.1.product: rotation 0 of axes 2 and 2, want two of 3"},
		{givens, text(block+"product.d", "0"), "rff: map.w.blocks.1.product: d = 0, want 1 to 2147483647"},
		{givens, number(block+"product.angles", 1, math.NaN()), "rff: map.w.blocks.1.product: rotation 0 has cosine"},
		{givens, func(f *safetensors.File) {
			f.Tensors[block+"product.axes"] = safetensors.Tensor{DType: safetensors.I32, Shape: []int{1}, Data: make([]byte, 4)}
		}, "rff: map.w.blocks.1.product: 1 axes and 10 cosines and sines, want two of each for a rotation"},
		{givens, number(block+"product.angles", 1, 3), "rff: map.w.blocks.1.product: rotation 0 has cosine"},
		{givens, func(f *safetensors.File) {
			for _, part := range []string{"axes", "angles"} {
				delete(f.Tensors, block+"product."+part)
			}
			delete(f.Metadata, block+"product.d")
			f.Metadata[block+"product"] = "nil"
		}, "rff: map.w: orf: block 1 has both of rotation and product or none, want one"},

		{golden(t, "Matern"), number("map.spec.gains", 0, math.NaN()), "rff: map: rff: gains[0] = NaN, want a finite number"},
		{golden(t, "Matern"), text("map.spec.nu", "2"), "rff: map: rff: nu = 2, want 0.5, 1.5 or 2.5"},
		{golden(t, "SoftmaxOptimal"), text("map.spec.a", "0.2"), "rff: map: rff: a = 0.2, want a number below 1/8"},
		{golden(t, "SDERF"), func(f *safetensors.File) { delete(f.Tensors, "map.offsets"); f.Metadata["map.offsets"] = "nil" }, "rff: map: rff: 0 offsets, want 4"},
		{golden(t, "SoftmaxOptimal"), func(f *safetensors.File) {
			f.Tensors["map.offsets"] = safetensors.Tensor{DType: safetensors.F64, Shape: []int{0}}
		}, "rff: map: rff: 0 offsets, want 4"},
		{golden(t, "SADERF"), number("map.spec.psi", 0, 0), "rff: map: rff: ψ_0 = 0 is outside the range of float64"},
		{golden(t, "ADERF"), reshape("map.spec.query", 1, 9), "rff: map: rff: query is 1×9, want 3×3"},
		{golden(t, "SDERF"), number("map.spec.damping", 0, 0.5), "rff: map: rff: a = 0.5, want a number below 1/8"},
		{golden(t, "Identity"), text("map.spec.d", "0"), "rff: map: rff: d = 0, want at least 1"},
		{golden(t, "Identity"), text("map.spec.d", strconv.Itoa(math.MaxInt)), "of memory, want at most"},
		{golden(t, "Quadratic"), text("map.spec.d", strconv.Itoa(math.MaxInt32)), "of memory, want at most"},
		{golden(t, "Affine"), number("map.spec.centre", 0, math.NaN()), "rff: map: rff: not an affine map: kernels: Pullback.Centre[0] = NaN, want a finite number"},
		{golden(t, "Nystroem"), text("map.k", "nil"), "rff: map: rff: kernels: k is nil"},
		{golden(t, "Nystroem"), reshape("map.points", 1, 9), "rff: map: rff: inverse has 6 numbers, want the 1 of a triangle of order 1"},
		{golden(t, "Nystroem"), number("map.inverse", 2, math.Inf(1)), "rff: map: rff: inverse[2] = +Inf, want a finite number"},
		{golden(t, "Spectral"), reshape("map.points", 3, 11), "rff: map: rff: points are 3×11, coefficients 11×6, want as many rows"},
		{golden(t, "Compose"), text("map.then", "nil"), "rff: map: rff: then is nil, want a map"},
		{golden(t, "Compose"), text("map.then.spec.d", "7"), "rff: map: rff: then is a map of R^7, want R^3, where first leads"},
		{golden(t, "Sum"), text("map.maps.1", "nil"), "rff: map: rff: maps[1] is nil, want a map"},
		{golden(t, "Sum"), text("map.maps.1.spec.d", "7"), "rff: map: rff: maps[1] is a map of R^7, want R^3, as maps[0]"},
		{golden(t, "Sum"), text("map.maps", "0"), "rff: map: rff: maps is empty, want at least one map"},
		{golden(t, "Sum"), number("map.weights", 0, -1), "rff: map: rff: weights[0] = -1, want a finite number from 0 on"},
		{golden(t, "Sum"), number("map.weights", 1, math.NaN()), "rff: map: rff: weights[1] = NaN, want a finite number from 0 on"},
	} {
		_, err := rff.Read[float64](bytes.NewReader(changed(c.file, c.change)))
		assert.ErrorContains(t, err, c.want)
	}
	_, err := rff.Read[float32](bytes.NewReader(gaussian))
	assert.EqualError(t, err, "rff: the file is of float64, want float32")
	_, err = rff.Read[float64](strings.NewReader(""))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	broken := errors.New("broken")
	_, err = rff.Read[float64](io.MultiReader(bytes.NewReader(gaussian[:100]), failing{broken}))
	assert.ErrorIs(t, err, broken)
	assert.ErrorIs(t, rff.Write[float64](failing{broken}, mapOf(t, gaussian)), broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func mapOf(t testing.TB, file []byte) rff.Map[float64] {
	m, err := rff.Read[float64](bytes.NewReader(file))
	require.NoError(t, err)
	return m
}

// TestKernelsOfOtherPoints: a kernel that panics at the points of a map makes no map.
func TestKernelsOfOtherPoints(t *testing.T) {
	pullback := func(k kernels.Kernel, rows, cols int) kernels.Kernel {
		return kernels.Pullback{K: k, A: points[float64](1, rows, cols, 1)}
	}
	embedding := func(k kernels.Kernel, d int) []byte {
		m, err := rff.Nystroem[float64](k, points[float64](2, 3, d, 1))
		require.NoError(t, err)
		return fileOf(t, m)
	}
	other, err := safetensors.Read(bytes.NewReader(embedding(kernels.Gaussian{}, 5)))
	require.NoError(t, err)
	otherPoints := func(f *safetensors.File) { f.Tensors["map.points"] = other.Tensors["map.points"] }
	for _, c := range []struct {
		file   []byte
		change func(f *safetensors.File)
	}{
		{embedding(pullback(kernels.Gaussian{}, 2, 3), 3), otherPoints},
		{embedding(kernels.Sum{kernels.Gaussian{}, kernels.Scaled{By: 2, K: pullback(kernels.Gaussian{}, 2, 4)}}, 4), otherPoints},
		{embedding(kernels.Product{pullback(pullback(kernels.Gaussian{}, 1, 3), 3, 5)}, 5), reshape("map.k.terms.0.k.a", 3, 1)},
	} {
		_, err := rff.Read[float64](bytes.NewReader(changed(c.file, c.change)))
		assert.ErrorContains(t, err, "rff: map: rff: k is a kernel of points of R^")
	}
}

// TestHostileFilesTakeLittleMemory has small files of maps with many features or
// coordinates.
//
//ci:portable
func TestHostileFilesTakeLittleMemory(t *testing.T) {
	w, err := orf.Draw[float64](orf.Givens{Rotations: 1}, 1, 3, exprand.NewSource(1))
	require.NoError(t, err)
	g, err := rff.Draw(rff.SoftmaxOptimal{Scale: 1, A: -0.1}, w)
	require.NoError(t, err)
	vast := changed(fileOf(t, g), text("map.w.blocks.0.product.d", "100000000"))
	for name, file := range map[string][]byte{
		"Identity":  changed(golden(t, "Identity"), text("map.spec.d", "100000000")),
		"Quadratic": changed(golden(t, "Quadratic"), text("map.spec.d", "10000")),
		"Givens":    vast,
		"no offsets": changed(vast, func(f *safetensors.File) {
			delete(f.Tensors, "map.offsets")
			f.Metadata["map.offsets"] = "nil"
		}),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := rff.Read[float64](bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
		if name == "no offsets" {
			assert.EqualError(t, err, "rff: map: rff: 0 offsets, want 1")
			continue
		}
		assert.NoError(t, err, name)
		assert.NotNil(t, m, name)
	}
}
