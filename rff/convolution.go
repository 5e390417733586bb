package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Convolution returns the convolutional map of images that averages the features
// ψ = m of their patches over cells,
//
//	φ(x) = [1/P·Σ_{p ∈ cell 1} ψ(x_p), 1/P·Σ_{p ∈ cell 2} ψ(x_p), …],
//
// R^(Height·Width·Channels) → R^(cells·D) where ψ has D features, and P is the
// number of patches in the cell: one layer of a convolutional kernel network
// [Mairal et al. 2014], whose filters are frequencies instead of learnt [Rahimi &
// Recht 2007]. kernels.Patches says what an image, a patch and a cell are, and in
// what order they come. φ(x)ᵀφ(y) estimates kernels.Convolution of the kernel of m,
// without bias where m has none, and equals it where m is exact. Patches are
// prepared by the map: Compose with PCA, fitted to kernels.CutPatches, whitens
// them, and Homogeneous separates pattern from contrast.
//
// Patches of about 128 places are cut and transformed together, then added up in
// their order: scratch memory is 128 patches and their features a goroutine, kept
// for later calls, however many images there are and however large they are. The
// cost is the cost of m on all patches; rounding of the sum adds up to P·u·max|ψ| to an
// element. A row of Transform depends on its row of x alone, not on the others nor on
// GOMAXPROCS, where that holds for m.
//
// An error reports a nil m, parameters of p out of range, an m that is not a map of
// patches, and features too many for memory.
func Convolution[T dense.Float](m Map[T], p kernels.Patches) (Map[T], error) {
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
	f := cellLayout[T]{
		patches: p, in: image, out: down * across * each, patch: patch, each: each,
		cells: make([]int, rows*cols), shares: make([]T, down*across), images: max(1, patchRows/(rows*cols)),
	}
	pool := p.Pool
	if pool == 0 {
		pool = max(rows, cols)
	}
	counts := make([]int, len(f.shares))
	for place := range f.cells {
		cell := place/cols/pool*across + place%cols/pool
		f.cells[place] = cell
		counts[cell]++
	}
	for cell, n := range counts {
		f.shares[cell] = T(1 / float64(n))
	}
	return wrapped(m, func(m Map[T]) Map[T] {
		return &convolved[T]{cellLayout: f, features: m}
	}), nil
}

// cellLayout says which patches of an image are averaged.
type cellLayout[T dense.Float] struct {
	patches              kernels.Patches
	in, out, patch, each int
	cells                []int // of the patches of an image
	shares               []T   // 1/patches of each cell
	images               int   // that are worked on together
}

// convolved is the map of Convolution.
type convolved[T dense.Float] struct {
	cellLayout[T]
	features Map[T]

	passes pool.Of[convolvedPass[T]]
	spaces pool.Of[convolvedSpace[T]]
}

func (f *convolved[T]) Dims() (in, out int) { return f.in, f.out }

func (f *convolved[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(x, f.in)
	dst = dense.Ensure(dst, x.Rows, f.out)
	inBlocks(&f.passes, convolvedPass[T]{convolved: f, dst: dst, x: x}, x.Rows, f.images)
	return dst
}

func (f *convolved[T]) Kernel() kernels.Kernel {
	k := f.features.Kernel()
	if k == nil {
		return nil
	}
	return kernels.Convolution{K: k, Patches: f.patches}
}

// String returns the map of patches, and the dimensions.
func (f *convolved[T]) String() string {
	return describe(fmt.Sprintf("Convolution(%v)", f.features), f.in, f.out)
}

// patchRows is the number of patches that are transformed together.
const patchRows = 128

// convolvedPass is one Transform.
type convolvedPass[T dense.Float] struct {
	*convolved[T]
	dst, x dense.Matrix[T]
}

// convolvedSpace holds patches and their features.
type convolvedSpace[T dense.Float] struct{ patches, features []T }

func (p *convolvedPass[T]) Piece(piece int) {
	lo := piece * p.images
	hi := min(lo+p.images, p.x.Rows)
	for i := lo; i < hi; i++ {
		clear(p.dst.Row(i))
	}
	s := p.spaces.Get()
	places := len(p.cells)
	all := (hi - lo) * places
	for at := 0; at < all; at += patchRows {
		n := min(patchRows, all-at)
		p.block(lo*places+at, scratchMatrix(&s.patches, n, p.patch), scratchMatrix(&s.features, n, p.each))
	}
	p.spaces.Put(s)
	for i := lo; i < hi; i++ {
		for cell, share := range p.shares {
			vecmath.Scale(p.dst.Row(i)[cell*p.each:(cell+1)*p.each], share)
		}
	}
}

// block adds the features of the patches from number at on to their cells.
func (p *convolvedPass[T]) block(at int, patches, features dense.Matrix[T]) {
	places := len(p.cells)
	kernels.CutPatches(patches, p.patches, p.x, at)
	p.features.Transform(features, patches)
	for k := range features.Rows {
		cell := p.cells[(at+k)%places] * p.each
		vecmath.AddScaled(p.dst.Row((at + k) / places)[cell:cell+p.each], features.Row(k), 1)
	}
}
