package performer

import (
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// attendRenewed is causal attention by landmarks that are chosen among the keys of the past, anew
// each time the number of tokens has doubled. The first 2·r tokens have exact attention. The tokens
// b ≤ i < 2·b, b = 2·r, 4·r, …, have landmarks chosen among the keys before b, and sums over all keys
// are made again for them, which costs at most as much as all sums at the end. The last keys have
// exact weights.
func (l *landmarks[T]) attendRenewed(p request[T]) {
	p = trimmed(p)
	if p.q.Rows == 0 || p.v.Cols == 0 {
		return
	}
	n := p.past + p.q.Rows
	for begin, end := 0, 2*l.n; begin < n; begin, end = end, 2*end {
		if end <= p.past {
			continue
		}
		part := p.queries(max(begin-p.past, 0), min(end, n)-p.past)
		keys := min(end, p.k.Rows)
		part.k, part.v = p.k.RowRange(0, keys), p.v.RowRange(0, keys)
		part.valid = p.valid[:min(keys, len(p.valid))]
		if p.valid == nil {
			part.valid = nil
		}
		l.attendAfter(part, min(begin, keys))
	}
}

// attendAfter answers causal queries with landmarks chosen among the first n keys, or exactly if
// there are no more than landmarks.
func (l *landmarks[T]) attendAfter(p request[T], n int) {
	valid := p.valid
	if valid != nil {
		valid = valid[:n]
	}
	past, _, copies := layout.ValidOnly(p.k.RowRange(0, n), p.v.RowRange(0, n), valid)
	defer copies.Release()
	if l.isExact(past.Rows) {
		for h := range p.heads {
			l.exact.attend(p.head(h))
		}
		return
	}
	engine, chosen := l.engineFor(past)
	chosen.choice.Disown() // keys are summed as they come
	attendCausal(p, engine, l.exact)
	l.release(chosen)
}
