package rankone

import "github.com/seed-feabd252/randfeat/dense"

func reference[T dense.Float](p *Pass[T]) {
	var space [2][mostColumns]T
	u, sum := space[0][:p.Width], space[1][:p.Width]
	for t := range p.K.Rows {
		copy(u, p.V.Row(t))
		if p.corrects() {
			clear(sum)
			p.read(sum, p.Corrected.Row(t), p.S)
			for j, v := range sum {
				u[j] -= p.Fade[t] * v
			}
		}
		for j := range u {
			u[j] *= p.Beta[t]
		}
		for i, a := range p.K.Row(t)[:p.Rows] {
			row := p.S[i*p.Width:][:p.Width]
			if p.decays() {
				g := p.Decays.Row(t)[min(i, p.Decays.Cols-1)]
				for j := range row {
					row[j] *= g
				}
			}
			for j, v := range u {
				row[j] += a * v
			}
		}
		for h := range p.Heads {
			q := p.Q.Data[t*p.Q.Stride+h*p.QueryHead:][:p.Rows]
			clear(sum)
			p.read(sum, q, p.S)
			if !p.corrects() && !p.decays() {
				p.read(sum, q, p.Older)
			}
			out := p.Out.Data[t*p.Out.Stride+h*p.OutHead:][:p.Width]
			for j, v := range sum {
				if v *= p.Scale[t]; p.added {
					v += out[j]
				}
				out[j] = v
			}
		}
	}
}

const mostColumns = 64

func (p *Pass[T]) read(sum, c, s []T) {
	for i, a := range c[:p.Rows] {
		for j, v := range s[i*p.Width:][:p.Width] {
			sum[j] += a * v
		}
	}
}
