package rankone

import "github.com/seed-feabd252/randfeat/dense"

const (
	group      = 4  // tokens that correct together
	groupPairs = 16 // products of their coefficients: 6 of corrections and 10 of queries
	mostPairs  = 12 // groups whose products are kept at a time
	perToken   = 3  // numbers of a token: β, f and s
)

// takeTogether takes tokens that correct S in groups of four. Tokens of zeros fill the last group,
// which takes longer than its tokens one by one, so that later tokens change no bit of earlier
// ones.
func (p *Pass[T]) takeTogether(pairs, take func(p *Pass[T])) {
	n, r, w := p.K.Rows, p.Rows, p.Width
	size := groupPairs * mostPairs
	if n%group > 0 {
		size += group * (3*r + 2*w + perToken)
	}
	if len(p.Space) < size {
		p.Space = make([]T, size)
	}
	p.pairs = p.Space[:groupPairs*mostPairs]
	whole := n / group * group
	for p.first = 0; p.first < whole; p.first = p.end {
		p.end = min(p.first+group*mostPairs, whole)
		pairs(p)
		take(p)
	}
	if whole == n {
		return
	}
	free := p.Space[len(p.pairs):size]
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
	pairs(p)
	take(p)
	for t := whole; t < n; t++ {
		copy(all.Out.Data[t*all.Out.Stride:][:w], p.Out.Data[(t-whole)*w:])
	}
	*p = all
}
