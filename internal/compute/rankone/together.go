package rankone

import "github.com/seed-feabd252/randfeat/dense"

const (
	group      = 4  // tokens that correct together
	groupPairs = 16 // products of their coefficients: 6 of corrections and 10 of queries
	groupFades = 8  // products of their decays, of which 7 are used
	mostPairs  = 12 // groups whose products are kept at a time
	perToken   = 4  // numbers of a token: β, f, s and g
)

// takeTogether takes tokens that correct S in groups of four. Tokens of zeros fill the last group.
func (p *Pass[T]) takeTogether(pairs, take func(p *Pass[T])) {
	n, r, w := p.K.Rows, p.Rows, p.Width
	size := (groupPairs + groupFades) * mostPairs
	if n%group > 0 {
		size += group * (3*r + 2*w + perToken)
	}
	if len(p.Space) < size {
		p.Space = make([]T, size)
	}
	p.pairs, p.fades = p.Space[:groupPairs*mostPairs], p.Space[groupPairs*mostPairs:][:groupFades*mostPairs]
	whole := n / group * group
	for p.first = 0; p.first < whole; p.first = p.end {
		p.end = min(p.first+group*mostPairs, whole)
		pairs(p)
		p.fade()
		take(p)
	}
	if whole == n {
		return
	}
	free := p.Space[len(p.pairs)+len(p.fades) : size]
	numbers := func(count int) []T {
		x := free[:count]
		free = free[count:]
		clear(x)
		return x
	}
	rest := func(m dense.Matrix[T], cols int) dense.Matrix[T] {
		x := dense.Matrix[T]{Rows: group, Cols: cols, Data: numbers(group * cols), Stride: cols}
		for t := whole; t < n; t++ {
			copy(x.Data[(t-whole)*cols:][:cols], m.Data[t*m.Stride:])
		}
		return x
	}
	all := *p // calls of kernels would move a copy of p to the heap
	p.first, p.end = 0, group
	p.K, p.Corrected, p.Q, p.V = rest(all.K, r), rest(all.Corrected, r), rest(all.Q, r), rest(all.V, w)
	p.Out = dense.Matrix[T]{Rows: group, Cols: w, Data: numbers(group * w), Stride: w}
	p.Beta, p.Fade, p.Scale = numbers(group), numbers(group), numbers(group)
	copy(p.Beta, all.Beta[whole:n])
	copy(p.Fade, all.Fade[whole:n])
	copy(p.Scale, all.Scale[whole:n])
	if p.decays() {
		p.Decays = dense.Matrix[T]{Rows: group, Cols: 1, Data: numbers(group), Stride: 1}
		for t := range group {
			p.Decays.Data[t] = 1
			if whole+t < n {
				p.Decays.Data[t] = all.Decays.Data[(whole+t)*all.Decays.Stride]
			}
		}
	}
	pairs(p)
	p.fade()
	take(p)
	for t := whole; t < n; t++ {
		copy(all.Out.Data[t*all.Out.Stride:][:w], p.Out.Data[(t-whole)*w:])
	}
	*p = all
}

// Products of four decays up to mostDecay do not overflow: 0·∞ would be NaN.
const mostDecay = 256

func (p *Pass[T]) mild() bool {
	for t := range p.Decays.Rows {
		if g := p.decay(t); !(-mostDecay <= g && g <= mostDecay) {
			return false
		}
	}
	return true
}

// fade multiplies the products of each four tokens by the decays between them, and sets fades to
// the products of decays from the first token to each and from each to the last.
func (p *Pass[T]) fade() {
	if !p.decays() {
		return
	}
	for t := p.first; t < p.end; t += group {
		at := (t - p.first) / group
		pairs, fades := p.pairs[at*groupPairs:][:groupPairs], p.fades[at*groupFades:][:groupFades]
		corrections, answers := pairs, pairs[group*(group-1)/2:]
		left := T(1)
		for j := range group {
			between := T(1) // the product of the decays of l < i < j, and then of l < i ≤ j
			for l := j - 1; l >= 0; l-- {
				corrections[l] *= between
				between *= p.decay(t + l)
			}
			between = 1
			for l := j; l >= 0; l-- {
				answers[l] *= between
				fades[group+l] = between // the last j gives the final value
				between *= p.decay(t + l)
			}
			corrections, answers = corrections[j:], answers[j+1:]
			left *= p.decay(t + j)
			fades[j] = left
		}
	}
}

func (p *Pass[T]) decay(t int) T { return p.Decays.Data[t*p.Decays.Stride] }
