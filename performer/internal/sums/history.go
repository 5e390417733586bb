package sums

import (
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// history records the chunks of the pass forQueries and the changes of the reference, so that the
// pass forKeys has the same chunks with the same references in reverse order. A history takes
// memory for every change, and is kept only if log-features are extreme.
type history struct {
	kept    bool
	changes []logscale.Change
	chunks  []historyChunk
}

type historyChunk struct{ rows, changes int }

func (t *history) clear() { t.changes, t.chunks = t.changes[:0], t.chunks[:0] }

func (t *history) add(changes []logscale.Change, rows int) {
	if t.kept {
		t.chunks = append(t.chunks, historyChunk{rows, len(t.changes)})
		t.changes = append(t.changes, changes...)
	}
}

// lacksHistory: log D_i is too inexact for the pass forKeys, and no history is kept.
func (c *causal[T]) lacksHistory() bool {
	if c.purpose != forQueries || c.history.kept {
		return false
	}
	for _, ch := range c.batch {
		if ch.extreme {
			return true
		}
	}
	return false
}

func (c *causal[T]) replays() bool { return c.back() && c.history.kept }

// replay removes the last chunk from the history, sets the reference of ch to its reference, and
// returns its number of rows. Sums of queries are multiplied by the same factors as sums of keys
// were in the other direction.
func (c *causal[T]) replay(ch *chunk[T]) int {
	t := &c.history
	last := t.chunks[len(t.chunks)-1]
	t.chunks = t.chunks[:len(t.chunks)-1]
	ch.before = append(ch.before[:0], c.pending...)
	ch.ref.Copy(c.ref)
	c.pending = append(c.pending[:0], t.changes[last.changes:]...)
	t.changes = t.changes[:last.changes]
	c.ref.Undo(c.pending)
	return last.rows
}

func (c *causal[T]) scaleBack(ch *chunk[T]) {
	keys, queries := ch.reading(), ch.summed()
	ch.ref.ScaleKeys(keys, ch.scratch)
	ch.ref.ScaleQueries(queries, nil)
	for i := range queries.Rows {
		vecmath.Scale(queries.Row(i), ch.block.inverses[ch.from+i])
		ch.scales[i] = logscale.Scale{Factor: 1}
	}
}
