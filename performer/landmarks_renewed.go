package performer

import (
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

// forwardRenewed is causal attention by landmarks that are chosen anew among earlier keys each time
// the number of tokens has doubled. The first 2·r tokens have exact attention. The tokens b ≤ i <
// 2·b with b = 2·r, 4·r, … have landmarks chosen among the keys before b. The sums over all keys
// are computed again for each b, which costs at most as much as the sums for the last b. The last
// keys before a query have exact weights.
func (l *landmarks[T]) forwardRenewed(s sequence.Forward[T]) {
	s = s.TrimCausal()
	if s.Q.Rows == 0 || s.V.Cols == 0 {
		return
	}
	n := s.Past + s.Q.Rows
	for begin, end := 0, 2*l.n; begin < n; begin, end = end, 2*end {
		if end > s.Past {
			keys := min(end, s.K.Rows)
			block := s.Queries(max(begin-s.Past, 0), min(end, n)-s.Past).KeyRange(0, keys)
			l.forwardChosen(block, min(begin, keys))
		}
	}
}

// forwardChosen computes causal outputs with landmarks chosen among the first n keys, or exact
// outputs if at most r of these keys count.
func (l *landmarks[T]) forwardChosen(s sequence.Forward[T], n int) {
	before := s.KeyRange(0, n)
	past, _, copies := layout.ValidOnly(before.K, before.V, before.Valid)
	defer copies.Release()
	if l.isExact(past.Rows) {
		l.exact.forwardSequence(s)
		return
	}
	engine, chosen := l.engineFor(past)
	chosen.choice.Disown() // causal sums include the features of every key
	l.forwardCausal(s, engine)
	l.release(chosen)
}
