package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// backwardPairs adds what M and P give keys and queries to their gradients: those rows that
// are multiplied by e^b_i, and those keys that are by e^−b_j.
func (l *scan[T]) backwardPairs(n int) {
	first, v := l.firstPaired(), &l.reverse
	keys, down := rowsOf(&l.stack, 0, n), rowsOf(&v.dx, 0, n)
	if l.decays.width > 1 {
		for s := first; s <= l.group; s++ {
			g, x, to := l.pairGradient(s, n), rowsOf(&l.stack, s, n), l.upward(s, n)
			for i := range n {
				vecmath.AddScaled(to.Row(i), keys.Row(i), g.Row(i)[i])
				vecmath.AddScaled(down.Row(i), x.Row(i), g.Row(i)[i])
			}
		}
		l.decays.split(n)
		for half := 1; half < n; half *= 2 {
			l.level(half, n)
			l.backwardLevel(half, n)
			l.decays.merge(half, n)
		}
		return
	}
	for s := first; s <= l.group; s++ {
		g := l.pairGradient(s, n)
		l.decay(g)
		matmul.Mul(1, g, keys, 1, l.upward(s, n))
		matmul.TMul(1, g, rowsOf(&l.stack, s, n), 1, down)
	}
}

// upward returns the gradient with respect to keys, s = 0, or queries that are multiplied by e^b.
func (l *scan[T]) upward(s, n int) dense.Matrix[T] {
	if s == 0 {
		return l.reverse.up.Rows(n)
	}
	return rowsOf(&l.reverse.dx, s, n)
}

// backwardLevel is backwardPairs for the pairs of a level, as pairsByLevel has them. In the memory
// of the level, rows of the right blocks are for the rows of the stack themselves, and rows of the
// left blocks, at s = 0, for the keys that all of them are paired with.
func (l *scan[T]) backwardLevel(half, n int) {
	first, v := l.firstPaired(), &l.reverse
	keys, left := rowsOf(&l.weighted, 0, n), rowsOf(&v.level, 0, n)
	clear(v.level.Rows(l.group*chunkRows + n).Data)
	for lo := 0; lo+half < n; lo += 2 * half {
		mid, hi := lo+half, min(lo+2*half, n)
		for s := first; s <= l.group; s++ {
			g, x, right := l.pairGradient(s, n), rowsOf(&l.weighted, s, n), rowsOf(&v.level, s, n)
			if half > few {
				block := g.RowRange(mid, hi).ColRange(lo, mid)
				matmul.Mul(1, block, keys.RowRange(lo, mid), 0, right.RowRange(mid, hi))
				matmul.TMul(1, block, x.RowRange(mid, hi), 1, left.RowRange(lo, mid))
				continue
			}
			for i := mid; i < hi; i++ {
				for j := lo; j < mid; j++ {
					vecmath.AddScaled(right.Row(i), keys.Row(j), g.Row(i)[j])
					vecmath.AddScaled(left.Row(j), x.Row(i), g.Row(i)[j])
				}
			}
		}
	}
	down := rowsOf(&v.dx, 0, n)
	for i := range n {
		factor := l.decays.factor(i, half)
		if i/half%2 == 0 {
			vecmath.Multiply(left.Row(i), factor)
			vecmath.AddScaled(down.Row(i), left.Row(i), 1)
			continue
		}
		for s := first; s <= l.group; s++ {
			right := rowsOf(&v.level, s, n).Row(i)
			vecmath.Multiply(right, factor)
			vecmath.AddScaled(l.upward(s, n).Row(i), right, 1)
		}
	}
}
