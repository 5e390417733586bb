package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/near"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// nearOf returns exact weights of near keys, points of dimension d, and the weights of an undivided
// engine of all others.
func nearOf[T dense.Float](e exact[T], engine *sums.Engine[T], d int) near.Base[T] {
	return near.Base[T]{Engine: engine, Scores: e.scores(d)}
}

// attendCausal answers a causal request with exact weights for the last keys, and those of an
// undivided engine for the keys before.
func attendCausal[T dense.Float](p request[T], engine *sums.Engine[T], attention exact[T]) {
	p = trimmed(p)
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	base := nearOf(attention, engine, p.q.Cols)
	for h := range p.heads {
		one := p.head(h)
		near.Causal(base, one.dst, one.q, one.k, one.v, one.valid, one.past)
	}
}
