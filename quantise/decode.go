package quantise

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

func (c *codes[T]) Decode(dst dense.Matrix[T], from, to int) dense.Matrix[T] {
	all := c.rows()
	if from < 0 || to < from || to > all.n {
		panic(fmt.Sprintf("quantise: rows [%d, %d) of %d", from, to, all.n))
	}
	q := c.q
	dst = dense.Ensure(dst, to-from, q.in)
	parallel.Rows(to-from, encodeRows, func(lo, hi int) {
		codes, labels := make([]uint8, q.elements()), make([]int, hi-lo)
		s, part := dense.New[T](hi-lo, q.elements()), dense.New[T](hi-lo, q.in)
		for i := lo; i < hi; i++ {
			one := all.code(from+i, q.words)
			scan.Unpack(codes, one.words, q.width)
			scale := one.norm * one.ratio
			labels[i-lo] = one.cluster
			row := s.Row(i - lo)
			for j, k := range codes {
				row[j] = T(scale * float64(q.levels[k]))
			}
		}
		for k, r := range q.rotations {
			block := s.ColRange(k*q.out, (k+1)*q.out)
			if k == 0 {
				r.ApplyTransposed(dst.RowRange(lo, hi), block)
				continue
			}
			r.ApplyTransposed(part, block)
			for i := range part.Rows {
				vecmath.AddScaled(dst.Row(lo+i), part.Row(i), 1)
			}
		}
		if q.centres == nil {
			return
		}
		for i, label := range labels {
			vecmath.AddScaled(dst.Row(lo+i), q.centres[label].vector, 1)
		}
	})
	return dst
}
