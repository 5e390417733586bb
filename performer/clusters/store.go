package clusters

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// store is the tokens of one head of keys of a stream: the keys and values of the last ones in their
// order, those of the others by cluster.
type store[T dense.Float] struct {
	a     *attention[T]
	d, dv int

	begin        int // the number of tokens at which clusters were found, 0 for none
	settled      int // tokens that are in clusters
	keys, values []T // of the tokens after them

	centres  dense.Matrix[T]
	clusters []members[T]
	moments  moments[T]
	labels   []int32
}

// members is the tokens of a cluster.
type members[T dense.Float] struct {
	tokens       []int // their numbers, ascending
	keys, values []T
	sums         tally[T]
}

// recent returns the keys and values that are in no cluster.
func (s *store[T]) recent() (k, v dense.Matrix[T]) {
	return rowsOf(s.keys, s.d), rowsOf(s.values, s.dv)
}

// members returns the keys and values of a cluster.
func (s *store[T]) members(l int) (k, v dense.Matrix[T]) {
	return rowsOf(s.clusters[l].keys, s.d), rowsOf(s.clusters[l].values, s.dv)
}

// rowsOf returns rows of so many columns, one after another.
func rowsOf[T dense.Float](data []T, cols int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: len(data) / cols, Cols: cols, Stride: cols, Data: data}
}

// appendRecent adds tokens to those that are in no cluster.
func (s *store[T]) appendRecent(k, v dense.Matrix[T]) {
	s.keys, s.values = appendRows(s.keys, k), appendRows(s.values, v)
}

func appendRows[T dense.Float](x []T, rows dense.Matrix[T]) []T {
	x = slices.Grow(x, rows.Rows*rows.Cols)
	for i := range rows.Rows {
		x = append(x, rows.Row(i)...)
	}
	return x
}

// settle puts into clusters what belongs there when there are n tokens.
func (s *store[T]) settle(n int) {
	begin, settled := placesAt(n)
	if begin != s.begin {
		s.regroup(n)
	}
	s.absorb(settled - s.settled)
}

// regroup keeps the first n tokens, and finds the clusters that they have.
func (s *store[T]) regroup(n int) {
	k, v := s.inOrder(n)
	s.forget()
	if s.begin, _ = placesAt(n); s.begin > 0 {
		s.settled = s.begin - window
		s.group(k.RowRange(0, s.settled), v.RowRange(0, s.settled))
	}
	s.appendRecent(k.RowRange(s.settled, n), v.RowRange(s.settled, n))
}

// forget removes all tokens.
func (s *store[T]) forget() {
	s.begin, s.settled = 0, 0
	s.keys, s.values = s.keys[:0], s.values[:0]
	s.centres, s.clusters = dense.Matrix[T]{}, nil
	s.moments.shape(0, s.d, s.dv)
}

// group finds clusters among the first tokens and puts the tokens into them.
func (s *store[T]) group(k, v dense.Matrix[T]) {
	s.centres = findCentres(s.a, new(scratch.Buffer[T]), k)
	s.labels = scratch.Resize(s.labels, k.Rows)
	nearest(s.labels, k, s.centres)
	counts := make([]int, s.centres.Rows)
	for _, l := range s.labels {
		counts[l]++
	}
	s.clusters = make([]members[T], s.centres.Rows)
	for l := range s.clusters {
		c, room := &s.clusters[l], counts[l]+counts[l]/2+leastRoom
		c.tokens, c.keys, c.values = make([]int, 0, room), make([]T, 0, room*s.d), make([]T, 0, room*s.dv)
		c.sums.begin(s.d, s.dv)
	}
	for i, l := range s.labels {
		s.add(int(l), i, k.Row(i), v.Row(i))
	}
	s.moments.shape(len(s.clusters), s.d, s.dv)
	for l := range s.clusters {
		s.summarise(l)
	}
}

// leastRoom is the number of tokens that a cluster has room for beyond those that it begins with.
const leastRoom = 4

// absorb puts the first n tokens that are in no cluster into clusters.
func (s *store[T]) absorb(n int) {
	if n == 0 {
		return
	}
	k, v := s.recent()
	s.labels = scratch.Resize(s.labels, n)
	nearest(s.labels, k.RowRange(0, n), s.centres)
	for i, l := range s.labels {
		s.add(int(l), s.settled+i, k.Row(i), v.Row(i))
	}
	s.settled += n
	s.keys, s.values = behind(s.keys, n*s.d), behind(s.values, n*s.dv)
	s.summariseChanged()
}

// behind returns x without its first n elements, in memory that is not much larger.
func behind[T any](x []T, n int) []T {
	if left := len(x) - n; cap(x) > 4*left {
		return slices.Clone(x[n:])
	}
	return append(x[:0], x[n:]...)
}

// add adds a token to a cluster.
func (s *store[T]) add(l, token int, key, value []T) {
	c := &s.clusters[l]
	c.tokens = append(c.tokens, token)
	c.keys, c.values = append(c.keys, key...), append(c.values, value...)
	c.sums.add(s.centres.Row(l), key, value)
}

// summariseChanged sets the moments of the clusters whose number of tokens has changed.
func (s *store[T]) summariseChanged() {
	for l := range s.clusters {
		if s.moments.counts[l] != len(s.clusters[l].tokens) {
			s.summarise(l)
		}
	}
}

// summarise sets the moments of a cluster.
func (s *store[T]) summarise(l int) {
	c := &s.clusters[l]
	s.moments.set(l, len(c.tokens), s.centres.Row(l), &c.sums, s.a.scale(s.d))
}

// truncate keeps the first n tokens.
func (s *store[T]) truncate(n int) {
	switch begin, settled := placesAt(n); {
	case n == 0:
		s.forget()
	case begin != s.begin:
		s.regroup(n)
		s.absorb(settled - s.settled)
	default:
		s.release(settled)
		s.keys, s.values = s.keys[:(n-settled)*s.d], s.values[:(n-settled)*s.dv]
	}
}

// release takes the tokens from number settled on out of the clusters. Sums are made anew, as a
// difference would not have the bits of a sum.
func (s *store[T]) release(settled int) {
	n := s.settled - settled
	if n == 0 {
		return
	}
	s.settled = settled
	s.keys, s.values = slices.Insert(s.keys, 0, make([]T, n*s.d)...), slices.Insert(s.values, 0, make([]T, n*s.dv)...)
	recent, beside := s.recent()
	for l := range s.clusters {
		c := &s.clusters[l]
		keep := len(c.tokens)
		keys, values := s.members(l)
		for ; keep > 0 && c.tokens[keep-1] >= settled; keep-- {
			copy(recent.Row(c.tokens[keep-1]-settled), keys.Row(keep-1))
			copy(beside.Row(c.tokens[keep-1]-settled), values.Row(keep-1))
		}
		if keep == len(c.tokens) {
			continue
		}
		c.tokens, c.keys, c.values = c.tokens[:keep], c.keys[:keep*s.d], c.values[:keep*s.dv]
		c.sums.begin(s.d, s.dv)
		for i := range keep {
			c.sums.add(s.centres.Row(l), keys.Row(i), values.Row(i))
		}
	}
	s.summariseChanged()
}

// inOrder returns copies of the keys and values of the first n tokens.
func (s *store[T]) inOrder(n int) (k, v dense.Matrix[T]) {
	k, v = dense.New[T](n, s.d), dense.New[T](n, s.dv)
	for l := range s.clusters {
		keys, values := s.members(l)
		for i, token := range s.clusters[l].tokens {
			if token >= n {
				break
			}
			copy(k.Row(token), keys.Row(i))
			copy(v.Row(token), values.Row(i))
		}
	}
	if n > s.settled {
		keys, values := s.recent()
		dense.Copy(k.RowRange(s.settled, n), keys.RowRange(0, n-s.settled))
		dense.Copy(v.RowRange(s.settled, n), values.RowRange(0, n-s.settled))
	}
	return k, v
}

// clone returns a copy that shares nothing with s that changes.
func (s *store[T]) clone() store[T] {
	c := store[T]{a: s.a, d: s.d, dv: s.dv, begin: s.begin, settled: s.settled, centres: s.centres}
	c.keys, c.values = slices.Clone(s.keys), slices.Clone(s.values)
	c.clusters = make([]members[T], len(s.clusters))
	c.moments.shape(len(s.clusters), s.d, s.dv)
	for l, m := range s.clusters {
		c.clusters[l] = members[T]{tokens: slices.Clone(m.tokens), keys: slices.Clone(m.keys), values: slices.Clone(m.values), sums: m.sums.clone()}
		c.summarise(l)
	}
	return c
}

// clone returns a copy that shares nothing with t.
func (t *tally[T]) clone() tally[T] {
	var c tally[T]
	c.begin(len(t.keys), len(t.values))
	copy(c.keys, t.keys)
	copy(c.values, t.values)
	c.squares = t.squares
	return c
}
