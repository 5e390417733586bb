package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// A token of all heads is mapped at once, a head a row, so that the frequencies are
// read once for all of them. What follows is a matrix times a vector for each head,
// which is bound by reading S.

// tokens returns the only row of x as a matrix of a row a head.
func (s *State[T]) tokens(x dense.Matrix[T]) dense.Matrix[T] {
	heads := len(s.heads)
	d := x.Cols / heads
	return dense.Matrix[T]{Rows: heads, Cols: d, Data: x.Data[:x.Cols], Stride: d}
}

// appendToken is Append for one token.
func (s *State[T]) appendToken(k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	for h := range s.heads {
		sums, value := s.latest(h), s.values.Rows(h+1).Row(h)
		for f, x := range s.scaledKey(h) {
			vecmath.AddScaled(sums.Row(f), value, x)
		}
	}
	s.count()
}

// attendTokens is Attend for a few queries, one after another.
func (s *State[T]) attendTokens(dst, q dense.Matrix[T]) {
	for i := range q.Rows {
		s.a.mapQueries(s.queries.Rows(len(s.heads)), s.tokens(q.RowRange(i, i+1)))
		for h := range s.heads {
			query, out, sums := s.scaledQuery(h), s.output(h), s.latest(h)
			s.answerSettled(h, out, query)
			vecmath.SumRows(sums.Data, sums.Stride, query, out)
		}
		s.finish(dst.RowRange(i, i+1))
	}
}

// stepToken is Append, then Attend, for one token, in one pass over the latest sums.
func (s *State[T]) stepToken(dst, q, k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	s.a.mapQueries(s.queries.Rows(len(s.heads)), s.tokens(q))
	for h := range s.heads {
		key, query := s.scaledKey(h), s.scaledQuery(h)
		out, sums := s.output(h), s.latest(h)
		s.answerSettled(h, out, query)
		vecmath.Outer(sums.Data, sums.Stride, key, query, s.values.Rows(h+1).Row(h), out)
	}
	s.finish(dst)
	s.count()
}

// latest returns the sums of head h that single tokens are added to.
func (s *State[T]) latest(h int) dense.Matrix[T] {
	if s.recent != nil {
		return s.recent[h].Rows(s.a.m)
	}
	return s.heads[h].sums()
}

// answerSettled adds to out what the sums of head h give a query that the latest, if
// they are others, do not.
func (s *State[T]) answerSettled(h int, out, query []T) {
	if s.recent != nil {
		settled := s.heads[h].sums()
		vecmath.SumRows(settled.Data, settled.Stride, query, out)
	}
}

// recentTokens is the number of tokens whose sums are added to those of all before at
// once: a sum of n tokens is one of about 256 + n/256 numbers.
const recentTokens = 256

// count counts a token that was added to the latest sums.
func (s *State[T]) count() {
	s.n++
	s.fresh++
	if s.fresh == recentTokens {
		s.settle()
	}
}

// settle adds the sums of the last tokens to those of all before.
func (s *State[T]) settle() {
	if s.fresh > 0 {
		for h := range s.recent {
			addRows(s.heads[h].sums(), s.recent[h].Rows(s.a.m), 0, s.a.m)
			clear(s.recent[h].Data)
		}
	}
	s.fresh = 0
}

// mapKeys keeps the (log-)features of the keys of a token, and its values, extended
// by 1 if there are denominators.
func (s *State[T]) mapKeys(k, v dense.Matrix[T]) {
	s.a.mapKeys(s.keys.Rows(len(s.heads)), s.tokens(k))
	extend(s.values.Rows(len(s.heads)), s.tokens(v))
}

// scaledKey raises the reference of head h to its key and returns the features of it
// under that reference.
func (s *State[T]) scaledKey(h int) []T {
	acc := s.heads[h]
	key := s.keys.Rows(h+1).RowRange(h, h+1)
	if acc.ref != nil {
		acc.changes = acc.ref.raise(key.Row(0), acc.changes[:0])
		rescale(acc.sums(), acc.changes, 0, acc.m)
		if s.recent != nil {
			rescale(s.recent[h].Rows(acc.m), acc.changes, 0, acc.m)
		}
		acc.ref.scaleKeys(key)
	}
	return key.Row(0)
}

// scaledQuery returns the weights that the query of head h gives the sums.
func (s *State[T]) scaledQuery(h int) []T {
	query := s.queries.Rows(h+1).RowRange(h, h+1)
	var scales []scale
	if s.scales != nil {
		scales = s.scales[h : h+1]
	}
	s.heads[h].scaleQueries(query, scales)
	return query.Row(0)
}

// output returns zeros, where the sums of the query of head h are to be.
func (s *State[T]) output(h int) []T {
	out := s.sums.Rows(h + 1).Row(h)
	clear(out)
	return out
}

// finish writes the outputs of a token into the row dst.
func (s *State[T]) finish(dst dense.Matrix[T]) {
	s.a.finish(s.tokens(dst), s.sums.Rows(len(s.heads)), s.scales)
}
