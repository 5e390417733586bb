package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Convolution returns the convolutional map of images that averages the features ψ = m of their
// patches over cells,
//
//	φ(x) = [1/P·Σ_{p ∈ cell 1} ψ(x_p), 1/P·Σ_{p ∈ cell 2} ψ(x_p), …],
//
// R^(Height·Width·Channels) → R^(cells·D) where ψ has D features, and P is the number of patches in
// the cell: one layer of a convolutional kernel network [Mairal et al. 2014], with random
// frequencies in place of learnt filters [Rahimi & Recht 2007]. kernels.Patches defines images,
// patches and cells, and their order. φ(x)ᵀφ(y) estimates kernels.Convolution of the kernel of m.
// It has no bias if m has none, and it is exact if m is. m may prepare the patches: Compose with
// PCA, fitted to kernels.CutPatches, whitens them, and Homogeneous separates pattern from contrast.
//
// Transform cuts and transforms the patches of about 128 places together, then adds their features
// up in order. Scratch memory is 128 patches and their features for each goroutine, for any number
// and size of images, and is kept for later calls. The cost is the cost of m on all patches. The
// sum adds an error of up to P·u·max|ψ| to an element. If a row of the Transform of m depends
// neither on other rows nor on GOMAXPROCS, the same holds here.
//
// An error reports a nil m, parameters of p out of range, an m that is not a map of patches, and
// features too many for memory.
func Convolution[T dense.Float](m Map[T], p kernels.Patches) (Map[T], error) {
	return build[Map[T]](convolutionRecipe[T]{m, p})
}

// convolutionRecipe is what Convolution is made of.
type convolutionRecipe[T dense.Float] struct {
	Of      Map[T]
	Patches kernels.Patches
}

func newConvolution[T dense.Float](r convolutionRecipe[T]) (Map[T], error) {
	m, p := r.Of, r.Patches
	if m == nil {
		return nil, fmt.Errorf("rff: m is nil, want a map")
	}
	if err := kernels.Check(kernels.Convolution{K: kernels.DotProduct{}, Patches: p}); err != nil {
		return nil, fmt.Errorf("rff: p is out of range: %w", err)
	}
	image, patch := p.Dims()
	in, each := m.Dims()
	if in != patch {
		return nil, fmt.Errorf("rff: m is a map of R^%d, want R^%d, of patches", in, patch)
	}
	rows, cols := p.Grid()
	down, across := p.Cells()
	if err := limit.Memory[T](down, across, each); err != nil {
		return nil, fmt.Errorf("rff: m has %d features, p %d×%d cells: %w", each, down, across, err)
	}
	f := cellLayout{patches: p, patch: patch, each: each, rows: rows, cols: cols, across: across, cells: down * across, pool: p.Pool}
	if f.pool == 0 {
		f.pool = max(rows, cols)
	}
	return wrapped(m, func(m Map[T]) Map[T] {
		c := &convolved[T]{cellLayout: f, features: m}
		c.frame = frame{name: fmt.Sprintf("Convolution(%v)", m), in: image, out: down * across * each, recipe: convolutionRecipe[T]{m, p}}
		if k := m.Kernel(); k != nil {
			c.kernel = kernels.Convolution{K: k, Patches: p}
		}
		c.blockwise.rows, c.transform = max(1, patchRows/(rows*cols)), c.block
		return c
	}), nil
}

// cellLayout says which patches of an image are averaged.
type cellLayout struct {
	patches             kernels.Patches
	patch, each         int // coordinates of a patch, features of a patch
	rows, cols          int // of patches
	cells, across, pool int // the number of cells, in a row of them, and the side of one
}

// cell returns the cell of a patch.
func (l *cellLayout) cell(place int) int {
	return place/l.cols/l.pool*l.across + place%l.cols/l.pool
}

// count returns the number of patches in a cell.
func (l *cellLayout) count(cell int) int {
	return min(l.pool, l.rows-cell/l.across*l.pool) * min(l.pool, l.cols-cell%l.across*l.pool)
}

// convolved is the map of Convolution.
type convolved[T dense.Float] struct {
	blockwise[T, convolvedSpace[T]]
	cellLayout
	features Map[T]
}

// convolvedSpace holds patches and their features.
type convolvedSpace[T dense.Float] struct{ patches, features []T }

// patchRows is the number of patches that are transformed together.
const patchRows = 128

// block writes the features of a block of images.
func (f *convolved[T]) block(s *convolvedSpace[T], dst, x, _ dense.Matrix[T]) {
	for i := range dst.Rows {
		clear(dst.Row(i))
	}
	places := f.cellLayout.rows * f.cols
	for at := 0; at < x.Rows*places; at += patchRows {
		n := min(patchRows, x.Rows*places-at)
		patches, features := scratchMatrix(&s.patches, n, f.patch), scratchMatrix(&s.features, n, f.each)
		kernels.CutPatches(patches, f.patches, x, at)
		f.features.Transform(features, patches)
		for k := range n {
			cell := f.cell((at+k)%places) * f.each
			vecmath.AddScaled(dst.Row((at + k) / places)[cell:cell+f.each], features.Row(k), 1)
		}
	}
	for i := range dst.Rows {
		for cell := range f.cells {
			vecmath.Scale(dst.Row(i)[cell*f.each:(cell+1)*f.each], T(1/float64(f.count(cell))))
		}
	}
}
