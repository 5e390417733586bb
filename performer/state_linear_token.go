package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// A token of all heads is mapped at once, a head a row, so that the frequencies are
// read once for all of them. What follows is a matrix times a vector for each head,
// which is bound by reading S.

// rowsOfHeads returns the only row of x as a matrix of a row a head.
func rowsOfHeads[T dense.Float](x dense.Matrix[T], heads int) dense.Matrix[T] {
	d := x.Cols / heads
	return dense.Matrix[T]{Rows: heads, Cols: d, Data: x.Data[:x.Cols], Stride: d}
}

// appendToken is append for one token.
func (s *linearMemory[T]) appendToken(k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	for h := range s.heads {
		sums, value := s.latest(h), s.values.Rows(h+1).Row(h)
		for f, x := range s.scaledKey(h) {
			vecmath.AddScaled(sums.Row(f), value, x)
		}
	}
	s.count()
}

// attendTokens is attend for a few queries, one after another.
func (s *linearMemory[T]) attendTokens(dst, q dense.Matrix[T]) {
	for i := range q.Rows {
		s.mapQueries(q.RowRange(i, i+1))
		for h := range s.queryHeads {
			s.answer(h)
		}
		s.finish(dst.RowRange(i, i+1))
	}
}

// stepToken is append, then attend, for one token. The first query of a head of keys takes
// one pass over the latest sums together with the key.
func (s *linearMemory[T]) stepToken(dst, q, k, v dense.Matrix[T]) {
	s.mapKeys(k, v)
	s.mapQueries(q)
	group := s.group()
	for h := range s.heads {
		first := h * group
		key, query := s.scaledKey(h), s.scaledQuery(first)
		out, sums := s.output(first), s.latest(h)
		s.answerSettled(h, out, query)
		vecmath.Outer(sums.Data, sums.Stride, key, query, s.values.Rows(h+1).Row(h), out)
		for other := first + 1; other < first+group; other++ {
			s.answer(other)
		}
	}
	s.finish(dst)
	s.count()
}

// answer computes the sums that the query of head h of queries reads.
func (s *linearMemory[T]) answer(h int) {
	of := h / s.group()
	query, out, sums := s.scaledQuery(h), s.output(h), s.latest(of)
	s.answerSettled(of, out, query)
	vecmath.SumRows(sums.Data, sums.Stride, query, out)
}

// latest returns the sums of head h that single tokens are added to.
func (s *linearMemory[T]) latest(h int) dense.Matrix[T] {
	if s.recent != nil {
		return s.recent[h].Rows(s.a.m)
	}
	return s.heads[h].sums()
}

// answerSettled adds to out what the sums of head h give a query that the latest, if
// they are others, do not.
func (s *linearMemory[T]) answerSettled(h int, out, query []T) {
	if s.recent != nil {
		settled := s.heads[h].sums()
		vecmath.SumRows(settled.Data, settled.Stride, query, out)
	}
}

// recentTokens is the number of tokens whose sums are added to those of all before at
// once: a sum of n tokens is one of about 256 + n/256 numbers.
const recentTokens = 256

// count counts a token that was added to the latest sums.
func (s *linearMemory[T]) count() {
	s.fresh++
	if s.fresh == recentTokens {
		s.settle()
	}
}

// settle adds the sums of the last tokens to those of all before.
func (s *linearMemory[T]) settle() {
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
func (s *linearMemory[T]) mapKeys(k, v dense.Matrix[T]) {
	s.a.mapKeys(s.keys.Rows(len(s.heads)), rowsOfHeads(k, len(s.heads)))
	extend(s.values.Rows(len(s.heads)), rowsOfHeads(v, len(s.heads)))
}

// mapQueries keeps the (log-)features of the queries of a token.
func (s *linearMemory[T]) mapQueries(q dense.Matrix[T]) {
	s.a.mapQueries(s.queries.Rows(s.queryHeads), rowsOfHeads(q, s.queryHeads))
}

// scaledKey raises the reference of head h to its key and returns the features of it
// under that reference.
func (s *linearMemory[T]) scaledKey(h int) []T {
	acc := s.heads[h]
	key := s.keys.Rows(h+1).RowRange(h, h+1)
	if acc.ref != nil {
		acc.changes = acc.ref.raise(key.Row(0), acc.changes[:0])
		rescale(acc.sums(), acc.changes, 0, acc.m)
		if s.recent != nil {
			rescale(s.recent[h].Rows(acc.m), acc.changes, 0, acc.m)
		}
		vecmath.ExpDiff(key.Row(0), key.Row(0), acc.ref.high, acc.ref.low)
	}
	return key.Row(0)
}

// scaledQuery returns the weights that the query of head h of queries gives the sums.
func (s *linearMemory[T]) scaledQuery(h int) []T {
	query := s.queries.Rows(h+1).RowRange(h, h+1)
	var scales []scale
	if s.scales != nil {
		scales = s.scales[h : h+1]
	}
	s.heads[h/s.group()].scaleQueries(query, scales)
	return query.Row(0)
}

// output returns zeros, where the sums of the query of head h of queries are to be.
func (s *linearMemory[T]) output(h int) []T {
	out := s.sums.Rows(h + 1).Row(h)
	clear(out)
	return out
}

// finish writes the outputs of a token into the row dst.
func (s *linearMemory[T]) finish(dst dense.Matrix[T]) {
	s.a.finish(rowsOfHeads(dst, s.queryHeads), s.sums.Rows(s.queryHeads), s.scales)
}
