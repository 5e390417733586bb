package matmul

import (
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

const (
	// depth is the number of inner indices for which a tile of C stays in registers, whatever the
	// cache is: the order of sums depends on depth.
	depth = 256
	// packedBytes is the largest size in bytes of a part of B that is packed at a time, and so
	// bounds scratch memory. A quarter and four times as much are as fast.
	packedBytes = 1 << 22
	// packGrain is the largest number of elements that one goroutine packs alone.
	packGrain = 1 << 14
)

// Packed is a right operand. The zero value is ready for Pack. Goroutines may share an operand.
type Packed[T Float] struct {
	rows, cols int
	// data holds, for each block of depth rows, panel after panel, and for each panel row after
	// row. A panel has two vectors of columns. The last panel has one if enough, and zeros behind.
	data []T
	from operand[T] // while packing
	// stride is 0 if data holds panels. Otherwise data is the elements of B, with this stride.
	stride int
}

// narrowPanels is the largest number of panels of an operand that kernels read in place, because
// its rows are hardly longer than the rows of a panel.
const narrowPanels = 2

func isNarrow[T Float](b operand[T]) bool {
	panel := 2 * best[T]().lanes
	return !b.trans && b.rows > 0 && b.cols%panel == 0 && b.cols <= narrowPanels*panel && b.stride <= 2*b.cols
}

// rightOf returns panel i of the block of n rows of p from row lo on, and its number of vectors.
func rightOf[T Float](p *Packed[T], k *kernels[T], lo, n, i int) (right[T], int) {
	if p.stride > 0 {
		return right[T]{first: &p.data[lo*p.stride+i*2*k.lanes], row: p.stride, panel: 2 * k.lanes}, 2
	}
	b, vectors := panel(p, k, lo, n, i)
	return right[T]{first: &b[0], row: vectors * k.lanes, panel: n * 2 * k.lanes}, vectors
}

func (p *Packed[T]) Dims() (rows, cols int) { return p.rows, p.cols }

// Pack copies B to p. It uses the memory of p again.
func Pack[T Float, M Matrix[T]](p *Packed[T], b M) { productsOf[T]().pack(p, of(b, false)) }

// PackT makes p the operand Bᵀ.
func PackT[T Float, M Matrix[T]](p *Packed[T], b M) { productsOf[T]().pack(p, of(b, true)) }

func (instance[T]) pack(p *Packed[T], b operand[T]) {
	k := best[T]()
	width := (b.cols + k.lanes - 1) / k.lanes * k.lanes
	p.rows, p.cols = b.rows, b.cols
	p.data = cache.Aligned(p.data, b.rows*width)
	p.from = b
	blocks := (b.rows + depth - 1) / depth
	if pieces := blocks * panels(k, b.cols); b.rows*width <= packGrain {
		for i := range pieces {
			(*packing[T])(p).Piece(i)
		}
	} else {
		parallel.Do(pieces, (*packing[T])(p))
	}
	p.from = operand[T]{}
}

func panel[T Float](p *Packed[T], k *kernels[T], lo, n, i int) ([]T, int) {
	width := (p.cols + k.lanes - 1) / k.lanes * k.lanes
	at := i * 2 * k.lanes
	vectors := min(2, (width-at)/k.lanes)
	return p.data[lo*width+at*n:][:n*vectors*k.lanes], vectors
}

type packing[T Float] Packed[T]

func (t *packing[T]) Piece(piece int) {
	k, p := best[T](), (*Packed[T])(t)
	count := panels(k, p.cols)
	lo := piece / count * depth
	i := piece % count
	n := min(depth, p.rows-lo)
	dst, vectors := panel(p, k, lo, n, i)
	at := i * 2 * k.lanes
	lanes := min(p.cols-at, vectors*k.lanes)
	b := &p.from
	if b.half != nil {
		s := pool.Get[fewScratch[T]](&fewSums)
		elements, stride := widened(b, &s.wide, at, at+lanes, lo, n)
		packPanel(k, dst, elements, n, vectors, lanes, 1, stride)
		pool.Put(&fewSums, s)
		return
	}
	row, col := steps(b)
	packPanel(k, dst, b.data[lo*row+at*col:], n, vectors, lanes, row, col)
}

func panels[T Float](k *kernels[T], n int) int { return (n + 2*k.lanes - 1) / (2 * k.lanes) }

func packPanel[T Float](k *kernels[T], dst, b []T, n, vectors, lanes, row, col int) {
	width, bytes := vectors*k.lanes, simd.Size[T]()
	switch {
	case k.packs != nil && col == 1:
		k.packs[vectors-1](n, &dst[0], &b[0], row*bytes, lanes-(vectors-1)*k.lanes)
	case k.transpose != nil && row == 1:
		// Whole squares are transposed, and the other elements are copied one by one.
		squares := n / k.lanes
		done := squares * k.lanes
		for v := range vectors {
			to, from := dst[v*k.lanes:], b[v*k.lanes*col:]
			if lanes < (v+1)*k.lanes {
				packElements(to, from, n, k.lanes, lanes-v*k.lanes, width, row, col)
				continue
			}
			if squares > 0 {
				k.transpose(squares, &to[0], width*bytes, &from[0], col*bytes)
			}
			if done < n {
				packElements(to[done*width:], from[done:], n-done, k.lanes, k.lanes, width, row, col)
			}
		}
	default:
		packElements(dst, b, n, width, lanes, width, row, col)
	}
}

func packElements[T Float](dst, b []T, n, width, lanes, next, row, col int) {
	for l := range n {
		to := dst[l*next:][:width]
		for j := range to[:lanes] {
			to[j] = b[l*row+j*col]
		}
		clear(to[lanes:])
	}
}

// packedPart returns how many rows and columns of a k×n operand are packed at a time: multiples of
// a block and of a panel, unless there are fewer.
func packedPart[T Float](k, n int) (rows, columns int) {
	panel, elements := 2*best[T]().lanes, packedBytes/simd.Size[T]()
	columns = min(max(n, 1), elements/depth/panel*panel)
	rows = elements / columns / depth * depth
	return min(max(k, 1), rows), columns
}
