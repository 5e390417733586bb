package performer

import "github.com/seed-feabd252/randfeat/internal/vecmath"

// trail is how the reference grew on the way ahead, so that the way back has the same
// chunks under the same references. It takes memory for every change, and is kept only where
// log-features are far.
type trail struct {
	kept    bool
	changes []change
	chunks  []trailChunk
}

// trailChunk is a chunk of a trail: the number of its rows, and that of the changes before
// those that led to its reference.
type trailChunk struct{ rows, changes int }

// clear forgets all chunks.
func (t *trail) clear() { t.changes, t.chunks = t.changes[:0], t.chunks[:0] }

// add adds a chunk of so many rows and the changes that led to its reference, if the trail
// is kept.
func (t *trail) add(changes []change, rows int) {
	if t.kept {
		t.chunks = append(t.chunks, trailChunk{rows, len(t.changes)})
		t.changes = append(t.changes, changes...)
	}
}

// undo takes changes back, the last first.
func (r *reference[T]) undo(changes []change) {
	for i := len(changes) - 1; i >= 0; i-- {
		r.set(changes[i].feature, changes[i].from)
	}
}

// losesTrail reports whether the batch, on the way ahead, has queries whose log D_i is no
// number of T, and no trail is kept.
func (s *sweep[T]) losesTrail() bool {
	if s.back || s.trail.kept || s.a.opts.Unnormalised {
		return false
	}
	for _, c := range s.batch {
		if c.far {
			return true
		}
	}
	return false
}

// retraces reports whether the pass goes back along a trail.
func (s *sweep[T]) retraces() bool { return s.back && s.trail.kept }

// retrace makes the last chunk of the trail c, and returns the number of its rows. Sums of
// queries come under the reference of an earlier chunk by the factors by which those of keys
// left it: the weights of keys under it are as much larger.
func (s *sweep[T]) retrace(c *sweepChunk[T]) int {
	t := &s.trail
	last := t.chunks[len(t.chunks)-1]
	t.chunks = t.chunks[:len(t.chunks)-1]
	c.before = append(c.before[:0], s.pending...)
	c.ref.copyOf(s.ref)
	s.pending = append(s.pending[:0], t.changes[last.changes:]...)
	t.changes = t.changes[:last.changes]
	s.ref.undo(s.pending)
	return last.rows
}

// scaleBack scales the keys of a chunk that ask on the way back along a trail, and the
// queries that are summed, which it divides by their denominators.
func (s *sweep[T]) scaleBack(c *sweepChunk[T]) {
	keys, queries := c.asking(), c.summed()
	c.ref.scaleKeys(keys)
	c.ref.scaleQueries(queries, nil)
	for i := range queries.Rows {
		vecmath.Scale(queries.Row(i), c.slot.inverses[c.from+i])
		c.scales[i] = scale{factor: 1}
	}
}
