package rff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// KMeansLandmarks returns n centres of clusters of the rows of x (N×d), as an n×d matrix of
// landmarks for Nystroem. These make the error of Nystroem small if the kernel is smooth at the
// scale of a cluster [Zhang, Tsang & Kwok 2008].
//
// The first centres are rows of x, each drawn with a probability proportional to the squared
// distance from the nearest centre before it [Arthur & Vassilvitskii 2007]. Lloyd's iterations
// follow until no row changes its cluster, but no more than the given number: every row goes to its
// nearest centre, and every centre to the mean of its rows. With 0 iterations the landmarks are the
// seeds. A centre that loses all rows stays where it is, and if x has fewer than n different rows,
// some centres are equal, which Nystroem allows.
//
// The cost is O(N·n·d) for the seeds and for each iteration, in float64.
//
// An error reports an element of x that is not finite, an n outside 1 … N, iterations below 0, and
// a nil src.
func KMeansLandmarks[T dense.Float](x dense.Matrix[T], n, iterations int, src rand.Source) (dense.Matrix[T], error) {
	if err := landmarkArguments(x, n, src); err != nil {
		return dense.Matrix[T]{}, err
	}
	if iterations < 0 {
		return dense.Matrix[T]{}, fmt.Errorf("rff: iterations = %d, want at least 0", iterations)
	}
	points := dense.Copy(dense.Matrix[float64]{}, x)
	e := toUnit(points)
	seeds := scattered(points, n, rand.New(src))
	if iterations == 0 {
		return rowsAt(x, seeds), nil
	}
	// Distances come from inner products, which would lose digits to a common shift of the points.
	mean := make([]float64, x.Cols)
	for i := range points.Rows {
		vecmath.AddScaled(mean, points.Row(i), 1/float64(points.Rows))
	}
	for i := range points.Rows {
		vecmath.AddScaled(points.Row(i), mean, -1)
	}
	centers := lloyd(points, rowsAt(points, seeds), iterations)
	for i := range centers.Rows {
		row := centers.Row(i)
		vecmath.AddScaled(row, mean, 1)
		for j, v := range row {
			row[j] = math.Ldexp(v, e)
		}
	}
	return dense.Copy(dense.Matrix[T]{}, centers), nil
}

// scattered draws n rows of x, each with a probability proportional to its squared distance from
// the nearest one before it, or all alike if that is 0 everywhere.
func scattered(x dense.Matrix[float64], n int, rng *rand.Rand) []int {
	distances := slices.Repeat([]float64{math.Inf(1)}, x.Rows)
	seeds := []int{rng.IntN(x.Rows)}
	for len(seeds) < n {
		last := x.Row(seeds[len(seeds)-1])
		parallel.Rows(x.Rows, 1024, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				var q float64
				for j, v := range x.Row(i) {
					q += (v - last[j]) * (v - last[j])
				}
				distances[i] = min(distances[i], q)
			}
		})
		seeds = append(seeds, proportional(distances, rng))
	}
	return seeds
}

// proportional draws an index with the given weights, or any index if all weights are 0. It never
// draws a weight of 0 otherwise. distuv.Categorical may, by rounding.
func proportional(weights []float64, rng *rand.Rand) int {
	u := rng.Float64() * vecmath.Sum(weights)
	at := -1
	for i, w := range weights {
		if w > 0 {
			at = i
			if u -= w; u < 0 {
				break
			}
		}
	}
	if at < 0 {
		return rng.IntN(len(weights))
	}
	return at
}

// lloyd moves the centers to the means of the points that are nearest to them.
func lloyd(x, centers dense.Matrix[float64], iterations int) dense.Matrix[float64] {
	nearest := slices.Repeat([]int{-1}, x.Rows)
	sums, counts := dense.New[float64](centers.Rows, centers.Cols), make([]float64, centers.Rows)
	for range iterations {
		if !assign(nearest, x, centers) {
			break
		}
		clear(sums.Data)
		clear(counts)
		for i, c := range nearest {
			vecmath.AddScaled(sums.Row(c), x.Row(i), 1)
			counts[c]++
		}
		for c, n := range counts {
			if n > 0 {
				copy(centers.Row(c), sums.Row(c))
				vecmath.Scale(centers.Row(c), 1/n)
			}
		}
	}
	return centers
}

// assign writes the index of the center nearest to each row of x, and reports whether one changed.
func assign(nearest []int, x, centers dense.Matrix[float64]) bool {
	// ‖x − c‖² = ‖x‖² − 2·(xᵀc − ‖c‖²/2)
	half := make([]float64, centers.Rows)
	for c := range half {
		half[c] = vecmath.HalfSquaredNorm(centers.Row(c))
	}
	const rows = 256
	blocks := (x.Rows + rows - 1) / rows
	changed := make([]bool, blocks)
	parallel.Pieces(blocks, func(b int) {
		lo, hi := b*rows, min((b+1)*rows, x.Rows)
		g := dense.New[float64](hi-lo, centers.Rows)
		matmul.MulT(1, x.RowRange(lo, hi), centers, 0, g)
		for i := lo; i < hi; i++ {
			best, at := math.Inf(-1), 0
			for c, v := range g.Row(i - lo) {
				if v -= half[c]; v > best {
					best, at = v, c
				}
			}
			if nearest[i] != at {
				nearest[i], changed[b] = at, true
			}
		}
	})
	return slices.Contains(changed, true)
}
