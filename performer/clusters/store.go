package clusters

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// store holds the tokens of one head of keys of a stream. The last tokens are recent and in no
// cluster. All older tokens are in clusters.
type store[T dense.Float] struct {
	a     *attention[T]
	d, dv int

	begin        int // the number of tokens at the last run of k-means, 0 before the first
	clustered    int // the number of tokens in clusters
	keys, values []T // of recent tokens

	centres  dense.Matrix[T]
	clusters []cluster[T]
	moments  moments[T]
	labels   []int32
}

// cluster holds the tokens of a cluster.
type cluster[T dense.Float] struct {
	tokens       []int // numbers of tokens, ascending
	keys, values []T
	sums         keySums[T]
}

// recent returns the keys and values of recent tokens.
func (s *store[T]) recent() (k, v dense.Matrix[T]) {
	return rowsOf(s.keys, s.d), rowsOf(s.values, s.dv)
}

// members returns the keys and values of a cluster.
func (s *store[T]) members(l int) (k, v dense.Matrix[T]) {
	return rowsOf(s.clusters[l].keys, s.d), rowsOf(s.clusters[l].values, s.dv)
}

// rowsOf returns data as a matrix of cols columns.
func rowsOf[T dense.Float](data []T, cols int) dense.Matrix[T] {
	return dense.Of(len(data)/cols, cols, data)
}

// appendRecent appends recent tokens.
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

// update moves tokens into clusters as far as n tokens require.
func (s *store[T]) update(n int) {
	begin, clustered := clusteredAt(n)
	if begin != s.begin {
		s.rebuild(n)
	}
	s.insertRecent(clustered - s.clustered)
}

// rebuild keeps the first n tokens and runs k-means for them again.
func (s *store[T]) rebuild(n int) {
	k, v := s.inOrder(n)
	s.reset()
	if s.begin, _ = clusteredAt(n); s.begin > 0 {
		s.clustered = s.begin - window
		s.cluster(k.RowRange(0, s.clustered), v.RowRange(0, s.clustered))
	}
	s.appendRecent(k.RowRange(s.clustered, n), v.RowRange(s.clustered, n))
}

// reset removes all tokens.
func (s *store[T]) reset() {
	s.begin, s.clustered = 0, 0
	s.keys, s.values = s.keys[:0], s.values[:0]
	s.centres, s.clusters = dense.Matrix[T]{}, nil
	s.moments.shape(0, s.d, s.dv)
}

// cluster runs k-means on the keys k and puts the tokens into the clusters.
func (s *store[T]) cluster(k, v dense.Matrix[T]) {
	s.centres = s.a.findCentres(new(scratch.Buffer[T]), k)
	s.labels = scratch.Resize(s.labels, k.Rows)
	assign(s.labels, k, s.centres)
	counts := make([]int, s.centres.Rows)
	for _, l := range s.labels {
		counts[l]++
	}
	s.clusters = make([]cluster[T], s.centres.Rows)
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
		s.setMoments(l)
	}
}

// leastRoom is the least capacity of a cluster for further tokens.
const leastRoom = 4

// insertRecent moves the first n recent tokens into clusters.
func (s *store[T]) insertRecent(n int) {
	if n == 0 {
		return
	}
	k, v := s.recent()
	s.labels = scratch.Resize(s.labels, n)
	assign(s.labels, k.RowRange(0, n), s.centres)
	for i, l := range s.labels {
		s.add(int(l), s.clustered+i, k.Row(i), v.Row(i))
	}
	s.clustered += n
	s.keys, s.values = removeFirst(s.keys, n*s.d), removeFirst(s.values, n*s.dv)
	s.updateMoments()
}

// removeFirst returns x without its first n elements, in memory of at most four times the size.
func removeFirst[T any](x []T, n int) []T {
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

// updateMoments computes the moments of the clusters whose number of tokens has changed.
func (s *store[T]) updateMoments() {
	for l := range s.clusters {
		if s.moments.counts[l] != len(s.clusters[l].tokens) {
			s.setMoments(l)
		}
	}
}

// setMoments computes the moments of a cluster.
func (s *store[T]) setMoments(l int) {
	c := &s.clusters[l]
	s.moments.set(l, len(c.tokens), s.centres.Row(l), &c.sums, s.a.scale(s.d))
}

// truncate keeps the first n tokens.
func (s *store[T]) truncate(n int) {
	switch begin, clustered := clusteredAt(n); {
	case n == 0:
		s.reset()
	case begin != s.begin:
		s.update(n)
	default:
		s.removeFrom(clustered)
		s.keys, s.values = s.keys[:(n-clustered)*s.d], s.values[:(n-clustered)*s.dv]
	}
}

// removeFrom moves token first and all later tokens from clusters to the recent tokens. Sums are
// computed again, because a difference would not have the bits of a sum.
func (s *store[T]) removeFrom(first int) {
	n := s.clustered - first
	if n == 0 {
		return
	}
	s.clustered = first
	s.keys, s.values = slices.Insert(s.keys, 0, make([]T, n*s.d)...), slices.Insert(s.values, 0, make([]T, n*s.dv)...)
	recentKeys, recentValues := s.recent()
	for l := range s.clusters {
		c := &s.clusters[l]
		keep := len(c.tokens)
		keys, values := s.members(l)
		for ; keep > 0 && c.tokens[keep-1] >= first; keep-- {
			copy(recentKeys.Row(c.tokens[keep-1]-first), keys.Row(keep-1))
			copy(recentValues.Row(c.tokens[keep-1]-first), values.Row(keep-1))
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
	s.updateMoments()
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
	if n > s.clustered {
		keys, values := s.recent()
		dense.Copy(k.RowRange(s.clustered, n), keys.RowRange(0, n-s.clustered))
		dense.Copy(v.RowRange(s.clustered, n), values.RowRange(0, n-s.clustered))
	}
	return k, v
}

// clone returns a copy of s that shares only the centres, which do not change.
func (s *store[T]) clone() store[T] {
	c := store[T]{a: s.a, d: s.d, dv: s.dv, begin: s.begin, clustered: s.clustered, centres: s.centres}
	c.keys, c.values = slices.Clone(s.keys), slices.Clone(s.values)
	c.clusters = make([]cluster[T], len(s.clusters))
	c.moments.shape(len(s.clusters), s.d, s.dv)
	for l, m := range s.clusters {
		c.clusters[l] = cluster[T]{tokens: slices.Clone(m.tokens), keys: slices.Clone(m.keys), values: slices.Clone(m.values)}
		c.clusters[l].sums.begin(s.d, s.dv)
		copy(c.clusters[l].sums.memory, m.sums.memory)
		c.clusters[l].sums.squares = m.sums.squares
		c.setMoments(l)
	}
	return c
}
