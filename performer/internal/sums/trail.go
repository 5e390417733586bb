package sums

import (
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// trail is how the reference grew on the way ahead, so that the way back has the same chunks under
// the same references. It takes memory for every change, and is kept only where log-features are
// far.
type trail struct {
	kept    bool
	changes []logscale.Change
	chunks  []trailChunk
}

// trailChunk is a chunk of a trail: the number of its rows, and the number of changes before those
// that led to its reference.
type trailChunk struct{ rows, changes int }

// clear forgets all chunks.
func (t *trail) clear() { t.changes, t.chunks = t.changes[:0], t.chunks[:0] }

// add adds a chunk of so many rows and the changes that led to its reference, if the trail is kept.
func (t *trail) add(changes []logscale.Change, rows int) {
	if t.kept {
		t.chunks = append(t.chunks, trailChunk{rows, len(t.changes)})
		t.changes = append(t.changes, changes...)
	}
}

// losesTrail reports whether the batch has queries whose log D_i the way back cannot use, and no
// trail is kept.
func (c *causal[T]) losesTrail() bool {
	if c.purpose != forQueries || c.trail.kept || c.e.Unnormalised {
		return false
	}
	for _, ch := range c.batch {
		if ch.far {
			return true
		}
	}
	return false
}

// retraces reports whether the pass goes back along a trail.
func (c *causal[T]) retraces() bool { return c.back() && c.trail.kept }

// retrace takes the last chunk off the trail, gives its reference to ch, and returns the number of
// its rows. Sums of queries come under the reference of an earlier chunk by the factors by which
// sums of keys left it: the weights of keys under it are larger by the same factors.
func (c *causal[T]) retrace(ch *chunk[T]) int {
	t := &c.trail
	last := t.chunks[len(t.chunks)-1]
	t.chunks = t.chunks[:len(t.chunks)-1]
	ch.before = append(ch.before[:0], c.pending...)
	ch.ref.Copy(c.ref)
	c.pending = append(c.pending[:0], t.changes[last.changes:]...)
	t.changes = t.changes[:last.changes]
	c.ref.Undo(c.pending)
	return last.rows
}

// scaleBack scales the keys of a chunk that ask on the way back along a trail, and the queries that
// are summed, which it divides by their denominators.
func (c *causal[T]) scaleBack(ch *chunk[T]) {
	keys, queries := ch.asking(), ch.summed()
	ch.ref.ScaleKeys(keys, ch.scratch)
	ch.ref.ScaleQueries(queries, nil)
	for i := range queries.Rows {
		vecmath.Scale(queries.Row(i), ch.block.inverses[ch.from+i])
		ch.scales[i] = logscale.Scale{Factor: 1}
	}
}
