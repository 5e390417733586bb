package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// writeToken takes a token into the sums s, and sets out to what they then give its query, if
// there is one, which has the scale. It goes through s once to correct and once to write.
func (l *scan[T]) writeToken(s dense.Matrix[T], key, value, g []T, beta T, query, out []T) {
	u, decays := l.token[l.dv:][:len(value)], l.decaysOf(g)
	if l.r.opts.Rule.corrects() {
		corrected := key
		if len(g) > 0 {
			corrected = l.token[2*l.dv+l.dk:][:l.dk]
			copy(corrected, key)
			vecmath.Multiply(corrected, decays)
		}
		clear(u)
		vecmath.SumRows(s.Data, s.Stride, corrected, u)
		vecmath.AffineEach(u, -1, value, 0)
		vecmath.Scale(u, beta)
	} else {
		copy(u, value)
	}
	if out == nil {
		for f, x := range key {
			if len(g) > 0 {
				vecmath.Scale(s.Row(f), decays[f])
			}
			vecmath.AddScaled(s.Row(f), u, x)
		}
		return
	}
	clear(out)
	if len(g) > 0 {
		vecmath.DecayOuter(s.Data, s.Stride, decays, key, query, u, out)
		return
	}
	vecmath.Outer(s.Data, s.Stride, key, query, u, out)
}

// decaysOf returns e^g for each row of the sums, for decays g of all rows or of each, or nothing of nothing.
func (l *scan[T]) decaysOf(g []T) []T {
	if len(g) == 0 {
		return nil
	}
	decays := l.token[2*l.dv:][:l.dk]
	vecmath.Exp(decays[:len(g)], g)
	if len(g) == 1 {
		layout.Fill(decays, decays[0])
	}
	return decays
}

// readToken sets out to what the sums give a query, which has the scale.
func (l *scan[T]) readToken(s dense.Matrix[T], query, out []T) {
	clear(out)
	vecmath.SumRows(s.Data, s.Stride, query, out)
}
