package streams

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// A token of all heads is mapped at once, a head a row, so that the frequencies are read once for
// all of them. What follows is a matrix times a vector for each head, which is bound by reading S.

// appendToken is Append for one token.
func (s *Features[T]) appendToken(k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	for h := range s.sums {
		latest, value := s.latest(h), s.values.Rows(h+1).Row(h)
		for f, x := range s.scaledKey(h) {
			vecmath.AddScaled(latest.Row(f), value, x)
		}
	}
	s.tick()
}

// attendTokens is Attend for a few queries, one after another.
func (s *Features[T]) attendTokens(dst, q dense.Matrix[T]) {
	for i := range q.Rows {
		s.mapQueries(q.RowRange(i, i+1))
		for h := range s.heads {
			s.answer(h)
		}
		s.finish(dst.RowRange(i, i+1))
	}
}

// stepToken is Append, then Attend, for one token. The first query of a head of keys takes one pass
// over the latest sums together with the key.
func (s *Features[T]) stepToken(dst, q, k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	s.mapQueries(q)
	group := s.group()
	for h := range s.sums {
		first := h * group
		key, query := s.scaledKey(h), s.scaledQuery(first)
		out, latest := s.output(first), s.latest(h)
		s.answerSettled(h, out, query)
		vecmath.Outer(latest.Data, latest.Stride, key, query, s.values.Rows(h+1).Row(h), out)
		for other := first + 1; other < first+group; other++ {
			s.answer(other)
		}
	}
	s.finish(dst)
	s.tick()
}

// answer computes the sums that the query of head h of queries reads.
func (s *Features[T]) answer(h int) {
	of := h / s.group()
	query, out, latest := s.scaledQuery(h), s.output(h), s.latest(of)
	s.answerSettled(of, out, query)
	vecmath.SumRows(latest.Data, latest.Stride, query, out)
}

// latest returns the sums of head h that single tokens are added to.
func (s *Features[T]) latest(h int) dense.Matrix[T] {
	if s.recent != nil {
		return s.recent[h].Rows(s.engine.M)
	}
	return s.sums[h].Sums()
}

// answerSettled adds to out what the sums of head h give a query that the latest, if they are
// others, do not.
func (s *Features[T]) answerSettled(h int, out, query []T) {
	if s.recent != nil {
		settled := s.sums[h].Sums()
		vecmath.SumRows(settled.Data, settled.Stride, query, out)
	}
}

// tick counts a token that was added to the latest sums.
func (s *Features[T]) tick() {
	s.count++
	if s.count == sums.RecentTokens {
		s.settle()
	}
}

// settle adds the sums of the last tokens to those of all before.
func (s *Features[T]) settle() {
	if s.count > 0 {
		for h := range s.recent {
			sums.AddRows(s.sums[h].Sums(), s.recent[h].Rows(s.engine.M), 0, s.engine.M)
			clear(s.recent[h].Data)
		}
	}
	s.count = 0
}

// mapKeys keeps the (log-)features of the keys of a token, and its values, extended by 1 if there
// are denominators.
func (s *Features[T]) mapKeys(k, v dense.Matrix[T]) {
	s.engine.Features.Keys(s.keys.Rows(len(s.sums)), rowsOfHeads(k, len(s.sums)))
	sums.Extend(s.values.Rows(len(s.sums)), rowsOfHeads(v, len(s.sums)))
}

// mapQueries keeps the (log-)features of the queries of a token.
func (s *Features[T]) mapQueries(q dense.Matrix[T]) {
	s.engine.Features.Queries(s.queries.Rows(s.heads), rowsOfHeads(q, s.heads))
}

// scaledKey raises the reference of head h to its key and returns the features of it under that
// reference.
func (s *Features[T]) scaledKey(h int) []T {
	acc := s.sums[h]
	key := s.keys.Rows(h+1).RowRange(h, h+1)
	if acc.Ref != nil {
		acc.Raise(key.Row(0))
		if s.recent != nil {
			acc.RescaleLike(s.recent[h].Rows(s.engine.M))
		}
		acc.Ref.ScaleKey(key.Row(0))
	}
	return key.Row(0)
}

// scaledQuery returns the weights that the query of head h of queries gives the sums.
func (s *Features[T]) scaledQuery(h int) []T {
	query := s.queries.Rows(h+1).RowRange(h, h+1)
	var scales []logscale.Scale
	if s.scales != nil {
		scales = s.scales[h : h+1]
	}
	s.sums[h/s.group()].ScaleQueries(query, scales)
	return query.Row(0)
}

// output returns zeros, where the sums of the query of head h of queries are to be.
func (s *Features[T]) output(h int) []T {
	out := s.out.Rows(h + 1).Row(h)
	clear(out)
	return out
}

// finish writes the outputs of a token into the row dst.
func (s *Features[T]) finish(dst dense.Matrix[T]) {
	s.engine.Finish(rowsOfHeads(dst, s.heads), s.out.Rows(s.heads), s.scales)
}
