package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/scratch"
)

// sweep is one pass of Backward of causal attention over the tokens. Each token asks for
// what others sum up, in the same way in both passes [Katharopoulos et al. 2020]:
//
//   - ahead, queries ask and keys are summed. With the output gradients g_i and values
//     v_j, the gradient with respect to the features of query i is Σ_{j≤i} φ_j·(v_j·g_i),
//     less the part of the denominator D_i.
//   - back, keys ask and queries over their denominators D_i are summed. The gradient
//     with respect to the features of key j is Σ_{i≥j} φ_i/D_i·(g_i·v_j − δ_i), where
//     δ_i = g_i·out_i, and that with respect to v_j is Σ_{i≥j} (φ_i·φ_j)/D_i·g_i.
//
// What is summed has the references, chunks, slots and batches of a causal pass, from
// the last token to the first on the way back. In log space a query over D_i is its
// log-features less log D_i. log D_i and δ_i wait, from one pass to the other, in the
// first column of the rows of dk and dv, which are written later.
//
// Where log-features are far, the rounding of log D_i is a factor of any size. The queries are
// then summed as in bidirectional attention, under the references of the keys and
// over a D_i relative to these. For that the references go back the way that they came: see
// trail.
type sweep[T dense.Float] struct {
	gradients[T]
	a    *Attention[T]
	back bool

	// Which keys and queries are there; nil are all. The others are finite points with
	// values and gradients that are zero.
	keys, queries []bool

	slots []*sweepSlot[T] // block g in the order of the pass is in slot g mod len(slots)
	batch []*sweepChunk[T]
	first int // block where the batch begins
	last  int // and where it ends
	kept  []*sweepSlot[T]
	parts []*sweepChunk[T]

	ref     *reference[T]     // nil for features that are not logarithms
	state   scratch.Buffer[T] // m×width, the sums before the batch
	pending []change          // of the reference since the last chunk was cut
	trail   trail
}

// causalBackward is Backward of causal attention in batches of so many chunks, not more
// than there are blocks.
func (a *Attention[T]) causalBackward(window int, g gradients[T]) {
	a.causalBackwardOver(window, &g, nil, nil)
}

// causalBackwardOver is causalBackward of the keys and queries that are there; nil are
// all. Gradients of the others have no meaning.
func (a *Attention[T]) causalBackwardOver(window int, g *gradients[T], keys, queries []bool) {
	s := a.gradients.sweeps.Get()
	s.a, s.gradients, s.keys, s.queries = a, *g, keys, queries
	if !s.pass(window, false) {
		s.trail.kept = true
		s.pass(window, false)
	}
	s.pass(window, true)
	s.a, s.gradients, s.keys, s.queries, s.trail = nil, gradients[T]{}, nil, nil, trail{}
	a.gradients.sweeps.Put(s)
}

// pass takes all tokens in batches of so many chunks. It stops and returns false when the
// way back turns out to need a trail that is not kept.
func (s *sweep[T]) pass(window int, back bool) bool {
	s.back = back
	s.prepare(window)
	parallel.Do(len(s.slots), (*sweepLoading[T])(s))
	for done := 0; done < s.q.Rows; {
		done = s.cut(done)
		if len(s.batch) == 1 {
			s.step()
			if s.losesTrail() {
				return false
			}
			continue
		}
		parallel.Do(len(s.batch), (*sweepScoring[T])(s))
		if s.losesTrail() {
			return false
		}
		parallel.Do((s.a.m+featuresPerPrefix-1)/featuresPerPrefix, (*sweepPrefixing[T])(s))
		parallel.Do(s.last-s.first+1, (*sweepEmitting[T])(s))
		end := s.batch[len(s.batch)-1]
		s.state, end.sums = end.sums, s.state
	}
	return true
}

// prepare makes room for a window and empties the sums.
func (s *sweep[T]) prepare(window int) {
	m, width := s.a.m, s.a.width(s.v.Cols)
	for len(s.kept) < window {
		s.kept = append(s.kept, new(sweepSlot[T]))
		s.parts = append(s.parts, newSweepChunk(s.a))
	}
	s.slots = s.kept[:window]
	for i, slot := range s.slots {
		slot.prepare(m)
		s.parts[i].out.Shape(chunkRows, s.v.Cols)
		if window > 1 {
			s.parts[i].sums.Shape(m, width)
		}
	}
	s.state.Shape(m, width)
	clear(s.state.Data)
	if s.retraces() {
		s.ref.undo(s.pending)
		s.pending = s.pending[:0]
		return
	}
	s.pending = s.pending[:0]
	s.trail.clear()
	if s.a.logKey != nil {
		if s.ref == nil {
			s.ref = newReference[T](m)
		}
		s.ref.reset()
	}
}

// step takes the only chunk of the batch through all stages: there is nothing to
// wait for.
func (s *sweep[T]) step() {
	c, state := s.batch[0], s.state.Rows(s.a.m)
	rescale(state, c.before, 0, s.a.m)
	s.score(c)
	s.emit(c, state)
	s.add(c, 1, state)
	s.reload(c)
}

// sweepLoading is the task of filling slots with the first blocks.
type sweepLoading[T dense.Float] sweep[T]

func (s *sweepLoading[T]) Piece(g int) { (*sweep[T])(s).load(g) }

// sweepScoring is the task of what chunks do by themselves.
type sweepScoring[T dense.Float] sweep[T]

func (s *sweepScoring[T]) Piece(i int) {
	c := s.batch[i]
	(*sweep[T])(s).score(c)
	(*sweep[T])(s).add(c, 0, c.sums.Rows(s.a.m))
}

// sweepPrefixing is the task of adding to the sums of each chunk those of all before it,
// some features a piece.
type sweepPrefixing[T dense.Float] sweep[T]

func (s *sweepPrefixing[T]) Piece(g int) {
	lo := g * featuresPerPrefix
	hi := min(lo+featuresPerPrefix, s.a.m)
	before := s.state.Rows(s.a.m)
	for _, c := range s.batch {
		sums := c.sums.Rows(s.a.m)
		carry(sums, before, c.before, lo, hi)
		before = sums
	}
}

// sweepEmitting is the task of the gradients of the batch, a block of tokens a piece.
type sweepEmitting[T dense.Float] sweep[T]

func (s *sweepEmitting[T]) Piece(i int) {
	slot := s.slots[(s.first+i)%len(s.slots)]
	before := &s.state
	for _, c := range s.batch {
		if c.slot == slot {
			(*sweep[T])(s).emit(c, before.Rows(s.a.m))
			(*sweep[T])(s).reload(c)
		}
		before = &c.sums
	}
}
