package kernelridge

import (
	"context"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

const leastRows = 64 // of a block, unless there are fewer rows

// operator is S = Ω^½KΩ^½ of n rows in blocks. A product takes the pairs of blocks I < J in rounds
// of independent pairs, so that sums have the same order for any number of processors.
type operator struct {
	k      kernels.Kernel
	root   []float64 // √ω; nil for weights of 1
	n      int
	size   int // rows of a block
	single *gramian.Points[float32]
	double *gramian.Points[float64]
	kept   map[[2]int]dense.Matrix[float32] // K between blocks I ≤ J; nil if not in memory
}

func newOperator(k kernels.Kernel, x dense.Matrix[float64], root, origin []float64) *operator {
	o := &operator{k: k, root: root, n: x.Rows, single: gramian.NewPoints[float32](k, x, origin), double: gramian.NewPoints[float64](k, x, origin)}
	o.size = min(gramian.BlockRows, max(leastRows, (o.n/32+gramian.TileRows-1)/gramian.TileRows*gramian.TileRows))
	return o
}

func (o *operator) blocks() int { return (o.n + o.size - 1) / o.size }

func (o *operator) keep(ctx context.Context, bytes int64) error {
	b := o.blocks()
	if int64(b)*int64(b+1)/2*int64(o.size)*int64(o.size)*4 > bytes {
		return nil
	}
	kept := make(map[[2]int]dense.Matrix[float32])
	for i := range b {
		for j := i; j < b; j++ {
			kept[[2]int{i, j}] = dense.New[float32](o.rowsOf(i), o.rowsOf(j))
		}
	}
	err := o.pairs(ctx, func(i, j int) {
		t := pool.Get[gramian.Tile[float32]](&gramian.Tiles)
		defer pool.Put(&gramian.Tiles, t)
		x, y, to := o.block(o.single, i), o.block(o.single, j), kept[[2]int{i, j}]
		t.Begin(y)
		for lo := 0; lo < to.Rows; lo += gramian.TileRows {
			hi := min(lo+gramian.TileRows, to.Rows)
			dense.Copy(to.RowRange(lo, hi), t.Fill(o.k, x.Rows(lo, hi), y))
		}
	})
	o.kept = kept
	return err
}

func (o *operator) rowsOf(block int) int { return min(o.n, (block+1)*o.size) - block*o.size }

func (o *operator) block(p *gramian.Points[float32], i int) *gramian.Points[float32] {
	return p.Rows(i*o.size, i*o.size+o.rowsOf(i))
}

// pairs calls f for all pairs of blocks I ≤ J, concurrently for pairs without a common block.
func (o *operator) pairs(ctx context.Context, f func(i, j int)) error {
	b := o.blocks()
	parallel.Pieces(b, func(i int) {
		if ctx.Err() == nil {
			f(i, i)
		}
	})
	players := b + b%2 // of a round-robin tournament: an odd number plays against a bye
	for round := range players - 1 {
		parallel.Pieces(players/2, func(p int) {
			i, j := players-1, round
			if p > 0 {
				i, j = (round+p)%(players-1), (round-p+players-1)%(players-1)
			}
			if i, j = min(i, j), max(i, j); j < b && ctx.Err() == nil {
				f(i, j)
			}
		})
	}
	return ctx.Err()
}

func (o *operator) Multiply(ctx context.Context, dst, v dense.Matrix[float64], wide bool) error {
	if o.root != nil {
		v = v.Clone()
		scaleRows(v, o.root)
	}
	clear(dst.Data)
	var err error
	if wide {
		err = multiply(ctx, o, o.double, dst, v)
	} else {
		err = multiply(ctx, o, o.single, dst, v)
	}
	if o.root != nil {
		scaleRows(dst, o.root)
	}
	return err
}

func scaleRows(x dense.Matrix[float64], by []float64) {
	for i, s := range by {
		for j := range x.Cols {
			x.Row(i)[j] *= s
		}
	}
}

// Columns of V are divided by their largest elements, because float32 has a small range. The
// columns beyond a multiple of lanes, if they are few, are rows of a transpose: their products with
// a tile take a fraction of the time.
func multiply[T dense.Float](ctx context.Context, o *operator, p *gramian.Points[T], dst, v dense.Matrix[float64]) error {
	peaks := make([]float64, v.Cols)
	for i := range v.Rows {
		for j, e := range v.Row(i) {
			peaks[j] = max(peaks[j], math.Abs(e))
		}
	}
	scaled := dense.New[T](v.Rows, v.Cols)
	for i := range v.Rows {
		to := scaled.Row(i)
		for j, e := range v.Row(i) {
			if peaks[j] > 0 {
				to[j] = T(e / peaks[j])
			}
		}
	}
	const lanes, few = 16, 8
	whole := v.Cols / lanes * lanes
	if v.Cols-whole > few {
		whole = v.Cols
	}
	across := dense.Transpose(dense.Matrix[T]{}, scaled.ColRange(whole, v.Cols))
	scaled = scaled.ColRange(0, whole)
	return o.pairs(ctx, func(i, j int) {
		t := pool.Get[gramian.Tile[T]](&gramian.Tiles)
		defer pool.Put(&gramian.Tiles, t)
		rows, cols := o.rowsOf(i), o.rowsOf(j)
		x, y := p.Rows(i*o.size, i*o.size+rows), p.Rows(j*o.size, j*o.size+cols)
		vi, vj := scaled.RowRange(i*o.size, i*o.size+rows), scaled.RowRange(j*o.size, j*o.size+cols)
		kept, _ := any(o.kept[[2]int{i, j}]).(dense.Matrix[T])
		if kept.Data == nil {
			t.Begin(y)
		}
		t.Sums.Shape(gramian.TileRows, whole)
		t.Other.Shape(cols, whole)
		t.Across.Shape(few, cols+gramian.TileRows)
		both := t.Across.Rows(across.Rows)
		below, belowAcross := t.Other.Rows(cols), both.ColRange(0, cols) // KᵀV_I, and its transpose
		for lo := 0; lo < rows; lo += gramian.TileRows {
			hi := min(lo+gramian.TileRows, rows)
			var g dense.Matrix[T]
			if kept.Data != nil {
				g = kept.RowRange(lo, hi)
			} else {
				g = t.Fill(o.k, x.Rows(lo, hi), y)
			}
			sums, sumsAcross, to := t.Sums.Rows(hi-lo), both.ColRange(cols, cols+hi-lo), dst.RowRange(i*o.size+lo, i*o.size+hi)
			matmul.MulInPlace(1, g, vj, 0, sums)
			addScaled(to, sums, peaks)
			if across.Rows > 0 {
				matmul.MulT(1, across.ColRange(j*o.size, j*o.size+cols), g, 0, sumsAcross)
				addAcross(to.ColRange(whole, v.Cols), sumsAcross, peaks[whole:])
			}
			if i != j {
				beta := T(1)
				if lo == 0 {
					beta = 0
				}
				matmul.TMulInPlace(1, g, vi.RowRange(lo, hi), beta, below)
				matmul.MulInPlace(1, across.ColRange(i*o.size+lo, i*o.size+hi), g, beta, belowAcross)
			}
		}
		if i != j {
			to := dst.RowRange(j*o.size, j*o.size+cols)
			addScaled(to, below, peaks)
			addAcross(to.ColRange(whole, v.Cols), belowAcross, peaks[whole:])
		}
	})
}

func addScaled[T dense.Float](dst dense.Matrix[float64], x dense.Matrix[T], by []float64) {
	for i := range x.Rows {
		to := dst.Row(i)
		for j, v := range x.Row(i) {
			to[j] += float64(v) * by[j]
		}
	}
}

func addAcross[T dense.Float](dst dense.Matrix[float64], x dense.Matrix[T], by []float64) {
	for j := range x.Rows {
		for i, v := range x.Row(j) {
			dst.Row(i)[j] += float64(v) * by[j]
		}
	}
}
