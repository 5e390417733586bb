package kernels

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Patches says how an image is cut into square patches, and how patches are gathered in cells. An
// image is a point of R^(Height·Width·Channels): channel ch of the pixel in row i and column j is
// element (i·Width + j)·Channels + ch. A patch has Size×Size pixels with all of their channels, in
// the order of an image, and is a point of R^(Size²·Channels).
//
// Patches are laid out in rows and columns, Stride pixels apart, beginning Padding pixels outside
// the image. Pixels outside the image are zero. A cell has Pool×Pool neighbouring patches; the last
// cells of a row or column may have fewer.
type Patches struct {
	// Height and Width of the image, in pixels.
	Height, Width int
	// Channels of a pixel. Zero means 1.
	Channels int
	// Size is the side of a patch, in pixels.
	Size int
	// Stride is at most Size, so that no pixel is left out between patches. Zero means 1.
	Stride int
	// Padding is less than Size, so that every patch sees the image.
	Padding int
	// Pool is the side of a cell, in patches. Zero means that all are in one cell.
	Pool int
}

// check reports a dimension out of range, an image, a patch or a number of patches that takes more
// than 2⁴⁰ bytes, and a grid of patches that does not reach the last row or column of pixels, which
// would hide NaN there.
func (p Patches) check() error {
	for _, f := range []struct {
		name     string
		v, least int
	}{
		{"Height", p.Height, 1}, {"Width", p.Width, 1}, {"Channels", p.Channels, 0}, {"Size", p.Size, 1},
		{"Stride", p.Stride, 0}, {"Padding", p.Padding, 0}, {"Pool", p.Pool, 0},
	} {
		if f.v < f.least {
			return fmt.Errorf("kernels: Patches.%s = %d, want at least %d", f.name, f.v, f.least)
		}
	}
	switch {
	case p.stride() > p.Size:
		return fmt.Errorf("kernels: Patches.Stride = %d is more than Size = %d and leaves pixels out", p.Stride, p.Size)
	case p.Padding >= p.Size:
		return fmt.Errorf("kernels: Patches.Padding = %d, want less than Size = %d", p.Padding, p.Size)
	}
	if err := limit.Memory[float32](p.Height, p.Width, p.channels()); err != nil {
		return fmt.Errorf("kernels: Patches.Height = %d, Width = %d, Channels = %d: %w", p.Height, p.Width, p.channels(), err)
	}
	if err := limit.Memory[float32](p.Size, p.Size, p.channels()); err != nil {
		return fmt.Errorf("kernels: Patches.Size = %d, Channels = %d: %w", p.Size, p.channels(), err)
	}
	for _, side := range []struct {
		name   string
		pixels int
	}{{"Height", p.Height}, {"Width", p.Width}} {
		n := p.along(side.pixels)
		if n < 1 {
			return fmt.Errorf("kernels: Patches.Size = %d is more than %s + 2·Padding = %d", p.Size, side.name, side.pixels+2*p.Padding)
		}
		if end := (n-1)*p.stride() + p.Size - p.Padding; end < side.pixels {
			return fmt.Errorf("kernels: patches of size %d, stride %d and padding %d end at pixel %d of %s = %d",
				p.Size, p.stride(), p.Padding, end, side.name, side.pixels)
		}
	}
	rows, cols := p.Grid()
	if err := limit.Memory[int](rows, cols); err != nil {
		return fmt.Errorf("kernels: %d×%d patches: %w", rows, cols, err)
	}
	return nil
}

// Dims returns the dimensions of an image and of a patch.
func (p Patches) Dims() (image, patch int) {
	return p.Height * p.Width * p.channels(), p.Size * p.Size * p.channels()
}

// Grid returns the numbers of rows and columns of patches.
func (p Patches) Grid() (rows, cols int) { return p.along(p.Height), p.along(p.Width) }

// Cells returns the numbers of rows and columns of cells. The patch in row r and column c of the
// grid is in the cell in row r/Pool and column c/Pool.
func (p Patches) Cells() (rows, cols int) {
	rows, cols = p.Grid()
	return (rows-1)/p.pool() + 1, (cols-1)/p.pool() + 1
}

// along returns the number of patches along a side of the image.
func (p Patches) along(pixels int) int {
	room := pixels + 2*p.Padding - p.Size
	if room < 0 {
		return 0
	}
	return room/p.stride() + 1
}

func (p Patches) stride() int { return max(p.Stride, 1) }

func (p Patches) channels() int { return max(p.Channels, 1) }

func (p Patches) pool() int {
	if p.Pool < 1 {
		return math.MaxInt
	}
	return p.Pool
}

// CutPatches writes patches of the images x (n×image), one a row, into the rows of dst and returns
// dst. Patches are numbered through all images: first the patches of the first image, row after row
// of its grid. dst gets the patches from number first on, one for each row; a zero dst is allocated
// for all of these patches, (n·patches − first)×patch. Principal components and landmarks of
// patches are fitted to dst. dst must not overlap x. CutPatches panics if p is out of range, if a
// shape does not fit, and if patches with such numbers do not exist.
func CutPatches[T dense.Float](dst dense.Matrix[T], p Patches, x dense.Matrix[T], first int) dense.Matrix[T] {
	must(p.check())
	x.Check()
	pixels, patch := p.Dims()
	if x.Cols != pixels {
		panic(fmt.Sprintf("kernels: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, pixels))
	}
	rows, cols := p.Grid()
	all := x.Rows * rows * cols
	if first < 0 || first > all || dst.Rows > all-first {
		panic(fmt.Sprintf("kernels: %d patches from number %d on, of %d×%d×%d patches", dst.Rows, first, x.Rows, rows, cols))
	}
	n := dst.Rows
	if n == 0 && dst.Cols == 0 && dst.Data == nil {
		n = all - first
	}
	dst = dense.Ensure(dst, n, patch)
	for i := range dst.Rows {
		image, place := (first+i)/(rows*cols), (first+i)%(rows*cols)
		cutPatch(dst.Row(i), p, x.Row(image), place/cols, place%cols)
	}
	return dst
}

// cutPatch writes the patch in row r and column c of the grid of p into dst.
func cutPatch[T dense.Float](dst []T, p Patches, image []T, r, c int) {
	channels := p.channels()
	top, left := r*p.stride()-p.Padding, c*p.stride()-p.Padding
	from, to := max(left, 0), min(left+p.Size, p.Width)
	line := p.Size * channels
	for i := range p.Size {
		part := dst[i*line : (i+1)*line]
		y := top + i
		if y < 0 || y >= p.Height {
			clear(part)
			continue
		}
		before := (from - left) * channels
		n := (to - from) * channels
		clear(part[:before])
		copy(part[before:before+n], image[(y*p.Width+from)*channels:])
		clear(part[before+n:])
	}
}
