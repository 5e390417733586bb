package quantise

import (
	"math"
	"math/bits"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

func (s *search[T]) selectRows(p *scanner) bool {
	n := p.hi - p.lo
	for w := range p.selected {
		p.selected[w] = ^uint64(0) >> (64 - min(max(n-64*w, 0), 64))
	}
	if s.options.Only != nil {
		p.choose(s.options.Only, 0)
	}
	if s.options.Except != nil {
		p.choose(s.options.Except, ^uint64(0))
	}
	count := 0
	for _, word := range p.selected {
		count += bits.OnesCount64(word)
	}
	p.allSelected, p.few = count == n, count < n/fewShare && scan.Listed()
	return count > 0
}

func (p *scanner) choose(set []uint64, flip uint64) {
	if p.b.ids == nil {
		first := p.b.first + p.lo
		at, shift := first/64, first%64
		for w := range p.selected {
			p.selected[w] &= wordOf(set, at+w)>>shift | wordOf(set, at+w+1)<<(64-shift) ^ flip
		}
		return
	}
	for i := p.nextSelected(0); i < p.hi-p.lo; i = p.nextSelected(i + 1) {
		id := int(p.b.ids[p.lo+i])
		if (wordOf(set, id/64)^flip)>>(id%64)&1 == 0 {
			p.selected[i/64] &^= 1 << (i % 64)
		}
	}
}

func wordOf(set []uint64, i int) uint64 {
	if i < len(set) {
		return set[i]
	}
	return 0
}

func (p *scanner) hide(scores []float32) {
	for w, word := range p.selected {
		for word = ^word; word != 0; word &= word - 1 {
			i := 64*w + bits.TrailingZeros64(word)
			if i >= len(scores) {
				return
			}
			scores[i] = float32(math.NaN())
		}
	}
}

func (p *scanner) nextSelected(i int) int {
	for w := i / 64; w < len(p.selected); w++ {
		if word := p.selected[w] >> (i % 64); word != 0 {
			return i + bits.TrailingZeros64(word)
		}
		i = 64 * (w + 1)
	}
	return chunkRows
}

func (s *search[T]) selects(id int) bool {
	o := &s.options
	return (o.Only == nil || wordOf(o.Only, id/64)>>(id%64)&1 == 1) && wordOf(o.Except, id/64)>>(id%64)&1 == 0
}

func (s *search[T]) accepts(id int) bool { return s.options.Accept == nil || s.options.Accept(id) }

func (s *search[T]) chooseCentres(x *ranking) {
	wanted, vector := s.options.Centres, *vectorOf[T](x.Query)
	x.clusters = x.clusters[:0]
	if wanted == 0 || wanted >= len(s.q.centres)-1 {
		return
	}
	x.chosen = x.chosen[:0]
	for i := 1; i < len(s.q.centres); i++ {
		c := &s.q.centres[i]
		product := 0.0
		for j, v := range c.vector {
			product += float64(float64(v) * float64(vector[j]))
		}
		switch {
		case s.by == SquaredDistance:
			// without cancellation far from the origin
			product = -vecmath.SquaredDistance(vector, c.vector)
		case s.by == Cosine && c.square > 0:
			product /= math.Sqrt(c.square)
		}
		x.chosen = keep(x.chosen, scoredRow{score: product, row: i}, wanted)
	}
	x.clusters = append(x.clusters, make([]bool, len(s.q.centres))...)
	x.clusters[0] = true
	for _, c := range cut(x.chosen, wanted) {
		x.clusters[c.row] = true
	}
}

func (x *ranking) scans(cluster int) bool { return len(x.clusters) == 0 || x.clusters[cluster] }
