package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// writeToken takes a token into the sums s, and sets out to what they then give its query, if
// there is one, which has the scale.
func (l *scan[T]) writeToken(s dense.Matrix[T], key, value, g []T, beta T, query, out []T) {
	u := l.token[l.dv:][:len(value)]
	if len(g) > 0 {
		factors := l.token[2*l.dv:][:len(g)]
		vecmath.Exp(factors, g)
		if len(g) == 1 {
			scaleRows(s, factors[0])
		} else {
			for f, a := range factors {
				vecmath.Scale(s.Row(f), a)
			}
		}
	}
	if l.r.opts.Rule.corrects() {
		clear(u)
		vecmath.SumRows(s.Data, s.Stride, key, u)
		vecmath.AffineEach(u, -1, value, 0)
		vecmath.Scale(u, beta)
	} else {
		copy(u, value)
	}
	if out == nil {
		for f, x := range key {
			vecmath.AddScaled(s.Row(f), u, x)
		}
		return
	}
	clear(out)
	vecmath.Outer(s.Data, s.Stride, key, query, u, out)
}

// readToken sets out to what the sums give a query, which has the scale.
func (l *scan[T]) readToken(s dense.Matrix[T], query, out []T) {
	clear(out)
	vecmath.SumRows(s.Data, s.Stride, query, out)
}
