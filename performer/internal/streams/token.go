package streams

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// The features of a token are computed for all heads at once, so that the frequencies are read
// once. Then each head multiplies a matrix by a vector, whose time is the time to read S.

// appendToken is Append for one token.
func (s *Features[T]) appendToken(k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	for h := range s.sums {
		latest, value := s.latest(h), s.values.Rows(h+1).Row(h)
		for f, x := range s.scaledKey(h) {
			vecmath.AddScaled(latest.Row(f), value, x)
		}
	}
	s.countToken()
}

// attendTokens is Attend for a few queries, one after another.
func (s *Features[T]) attendTokens(dst, q dense.Matrix[T]) {
	for i := range q.Rows {
		s.mapQueries(q.RowRange(i, i+1))
		for h := range s.heads {
			s.attendHead(h)
		}
		s.finish(dst.RowRange(i, i+1))
	}
}

// stepToken is Append and then Attend for one token. For the first query of a head of keys, one
// pass adds the key to the latest sums and multiplies the query by them.
func (s *Features[T]) stepToken(dst, q, k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	s.mapQueries(q)
	group := s.group()
	for h := range s.sums {
		first := h * group
		key, query := s.scaledKey(h), s.scaledQuery(first)
		out, latest := s.output(first), s.latest(h)
		s.addSettled(h, out, query)
		vecmath.Outer(latest.Data, latest.Stride, key, query, s.values.Rows(h+1).Row(h), out)
		for other := first + 1; other < first+group; other++ {
			s.attendHead(other)
		}
	}
	s.finish(dst)
	s.countToken()
}

// attendHead computes the products of the query of head h of queries with the sums.
func (s *Features[T]) attendHead(h int) {
	of := h / s.group()
	query, out, latest := s.scaledQuery(h), s.output(h), s.latest(of)
	s.addSettled(of, out, query)
	vecmath.SumRows(latest.Data, latest.Stride, query, out)
}

// latest returns the sums of head h to which single tokens are added.
func (s *Features[T]) latest(h int) dense.Matrix[T] {
	if s.recent != nil {
		return s.recent[h].Rows(s.engine.M)
	}
	return s.sums[h].Sums()
}

// addSettled adds the product of query with the sums of head h to out if the latest sums are
// separate.
func (s *Features[T]) addSettled(h int, out, query []T) {
	if s.recent != nil {
		settled := s.sums[h].Sums()
		vecmath.SumRows(settled.Data, settled.Stride, query, out)
	}
}

// countToken counts a token that was added to the latest sums.
func (s *Features[T]) countToken() {
	s.count++
	if s.count == sums.RecentTokens {
		s.settle()
	}
}

// settle adds the sums of the last tokens to the sums of all earlier tokens.
func (s *Features[T]) settle() {
	if s.count > 0 {
		for h := range s.recent {
			sums.AddRows(s.sums[h].Sums(), s.recent[h].Rows(s.engine.M), 0, s.engine.M)
			clear(s.recent[h].Data)
		}
	}
	s.count = 0
}

// mapKeys stores the (log-)features of the keys of a token, and its values followed by 1 if there
// are denominators.
func (s *Features[T]) mapKeys(k, v dense.Matrix[T]) {
	s.engine.Features.Keys(s.keys.Rows(len(s.sums)), rowsOfHeads(k, len(s.sums)))
	sums.Extend(s.values.Rows(len(s.sums)), rowsOfHeads(v, len(s.sums)))
}

// mapQueries stores the (log-)features of the queries of a token.
func (s *Features[T]) mapQueries(q dense.Matrix[T]) {
	s.engine.Features.Queries(s.queries.Rows(s.heads), rowsOfHeads(q, s.heads))
}

// scaledKey raises the reference of head h to its key, and returns the features of the key relative
// to the reference.
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

// scaledQuery returns the weights of the sums for the query of head h of queries.
func (s *Features[T]) scaledQuery(h int) []T {
	query := s.queries.Rows(h+1).RowRange(h, h+1)
	var scales []logscale.Scale
	if s.scales != nil {
		scales = s.scales[h : h+1]
	}
	s.sums[h/s.group()].ScaleQueries(query, scales)
	return query.Row(0)
}

// output returns zeros, the memory for the sums of the query of head h of queries.
func (s *Features[T]) output(h int) []T {
	out := s.out.Rows(h + 1).Row(h)
	clear(out)
	return out
}

// finish writes the outputs of a token to the row dst.
func (s *Features[T]) finish(dst dense.Matrix[T]) {
	s.engine.Finish(rowsOfHeads(dst, s.heads), s.out.Rows(s.heads), s.scales)
}
