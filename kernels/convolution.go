package kernels

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Convolution is the kernel of images that compares patches [Mairal et al. 2014],
//
//	k(x, y) = Σ_cells 1/P² · Σ_{p,q} K(x_p, y_q),
//
// where p and q run over the P places of patches in a cell: the place of a pattern in a cell does
// not matter. With cells of one patch the kernel compares patches at equal places. With a single
// cell it compares two images as bags of patches. It is positive semi-definite if K is: a sum of
// inner products of means.
//
// Gram evaluates K on blocks of patches in float64, in bounded memory. It takes P² pairs of patches
// for each cell and pair of images.
type Convolution struct {
	// K compares two patches.
	K       Kernel
	Patches Patches
}

// Eval returns the sum over all pairs of patches that share a cell. It panics if x or y is not of
// the length of an image, if Patches is out of range, and if K panics.
func (k Convolution) Eval(x, y []float64) float64 {
	must(k.check())
	p := k.Patches
	one := func(image []float64) dense.Matrix[float64] {
		return CutPatches(dense.Matrix[float64]{}, p, dense.Of(1, len(image), image), 0)
	}
	xs, ys := one(x), one(y)
	var sum float64
	for _, places := range k.cells() {
		var cell float64
		for _, i := range places {
			for _, j := range places {
				cell += k.K.Eval(xs.Row(i), ys.Row(j))
			}
		}
		sum += cell / float64(len(places)*len(places))
	}
	return sum
}

func (k Convolution) check() error {
	if k.K == nil {
		return fmt.Errorf("kernels: Convolution.K is nil")
	}
	return k.Patches.check()
}

// String returns K and the parameters of Patches.
func (k Convolution) String() string {
	p := k.Patches
	return fmt.Sprintf("Convolution{K: %v, %d×%d×%d, Size: %d, Stride: %d, Padding: %d, Pool: %d}",
		k.K, p.Height, p.Width, p.channels(), p.Size, p.stride(), p.Padding, p.Pool)
}

// cells returns the numbers of the patches of every cell.
func (k Convolution) cells() [][]int {
	rows, cols := k.Patches.Grid()
	down, across := k.Patches.Cells()
	cells, pool := make([][]int, down*across), k.Patches.pool()
	for place := range rows * cols {
		cell := place/cols/pool*across + place%cols/pool
		cells[cell] = append(cells[cell], place)
	}
	return cells
}

const (
	leftPatches  = 128  // patches of x in one Gram matrix
	rightPatches = 2048 // patches of y in one Gram matrix
)

func (k Convolution) gram(dst, x, y dense.Matrix[float64], one bool) {
	if pixels, _ := k.Patches.Dims(); x.Cols != pixels {
		panic(fmt.Sprintf("kernels: x is %d×%d, images have length %d", x.Rows, x.Cols, pixels))
	}
	if one {
		y = x
	}
	cells := k.cells()
	images := max(1, leftPatches/len(cells[0]))
	parallel.Rows(x.Rows, images, func(lo, hi int) {
		from := 0
		if one {
			from = lo
		}
		k.rows(dst.RowRange(lo, hi).ColRange(from, y.Rows), x.RowRange(lo, hi), y.RowRange(from, y.Rows), cells)
		if one {
			mirror(dst, lo, hi)
			for i := lo; i < hi; i++ {
				dst.Row(i)[i] = k.Eval(x.Row(i), x.Row(i))
			}
		}
	})
}

// rows writes the kernel of a few images x and all images y. The grouping of patches depends on
// their cell alone, so that the bits of an element do not depend on other images.
func (k Convolution) rows(dst, x, y dense.Matrix[float64], cells [][]int) {
	for i := range dst.Rows {
		clear(dst.Row(i))
	}
	_, patch := k.Patches.Dims()
	left := dense.New[float64](leftPatches, patch)
	right := dense.New[float64](min(rightPatches, max(y.Rows, 1)*len(cells[0])), patch)
	values := make([]float64, leftPatches*right.Rows)
	for _, places := range cells {
		scale := 1 / float64(len(places)*len(places))
		groups(y.Rows, places, right.Rows, func(y0, y1 int, to []int) {
			ys := k.cut(right, y.RowRange(y0, y1), to)
			groups(x.Rows, places, leftPatches, func(x0, x1 int, from []int) {
				xs := k.cut(left, x.RowRange(x0, x1), from)
				g := Gram(dense.Of(xs.Rows, ys.Rows, values[:xs.Rows*ys.Rows]), k.K, xs, ys)
				for u := range g.Rows {
					row, sums := g.Row(u), dst.Row(x0 + u/len(from))[y0:y1]
					for j := range sums {
						var sum float64
						for _, v := range row[j*len(to) : (j+1)*len(to)] {
							sum += v
						}
						sums[j] += scale * sum
					}
				}
			})
		})
	}
}

// groups calls f for groups of at most limit patches of n images at the given places. A group has
// whole images, or a part of one image that has more patches than limit.
func groups(n int, places []int, limit int, f func(lo, hi int, places []int)) {
	if images := limit / len(places); images > 0 {
		for lo := 0; lo < n; lo += images {
			f(lo, min(lo+images, n), places)
		}
		return
	}
	for i := range n {
		for at := 0; at < len(places); at += limit {
			f(i, i+1, places[at:min(at+limit, len(places))])
		}
	}
}

// cut writes the patches of every row of x at the given places into the first rows of dst, and
// returns these rows.
func (k Convolution) cut(dst, x dense.Matrix[float64], places []int) dense.Matrix[float64] {
	_, cols := k.Patches.Grid()
	dst = dst.RowRange(0, x.Rows*len(places))
	for i := range dst.Rows {
		at := places[i%len(places)]
		cutPatch(dst.Row(i), k.Patches, x.Row(i/len(places)), at/cols, at%cols)
	}
	return dst
}
