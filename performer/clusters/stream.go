package clusters

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
)

func (a *attention[T]) NewState(d, dv int) (*performer.State[T], error) {
	b, err := performer.NewBatch[T](1, 1, a)
	if err != nil {
		return nil, err
	}
	return b.NewState(d, dv)
}

// NewMemory returns the memory of an empty performer.State.
func (a *attention[T]) NewMemory(heads, keyHeads, d, dv int) (streams.Memory[T], error) {
	if err := limit.Memory[T](keyHeads, max(d, dv)); err != nil {
		return nil, fmt.Errorf("clusters: d = %d, dv = %d, for %d heads: %w", d, dv, keyHeads, err)
	}
	m := &memory[T]{a: a, heads: heads, d: d, dv: dv, stores: make([]store[T], keyHeads)}
	for h := range m.stores {
		m.stores[h] = store[T]{a: a, d: d, dv: dv}
		m.stores[h].index.begin(dense.New[T](0, d))
	}
	return m, nil
}

// memory is the streams.Memory of a performer.State. It is a function of the tokens alone.
type memory[T dense.Float] struct {
	a        *attention[T]
	heads    int // of queries
	d, dv    int
	tokens   int
	arrivals streams.Arrivals
	stores   []store[T] // of each head of keys

	dst, q dense.Matrix[T] // the arguments of Attend
}

func (m *memory[T]) Append(k, v dense.Matrix[T]) {
	m.arrivals.Extend(k.Rows)
	m.tokens += k.Rows
	for h := range m.stores {
		m.stores[h].append(layout.Head(k, h, len(m.stores)), layout.Head(v, h, len(m.stores)))
	}
}

func (m *memory[T]) Attend(dst, q dense.Matrix[T]) {
	m.dst, m.q = dst, q
	if pieces := q.Rows * len(m.stores); m.tokens*(m.d+m.dv) < fewElements {
		for i := range pieces {
			m.Piece(i)
		}
	} else {
		parallel.Do(pieces, m)
	}
	m.dst, m.q = dense.Matrix[T]{}, dense.Matrix[T]{}
}

// fewElements is the number of elements of keys and values from which on Attend uses several
// processors.
const fewElements = 1 << 14

// Piece computes the outputs of the queries of one row that read one head of keys.
func (m *memory[T]) Piece(i int) {
	row, h := i/len(m.stores), i%len(m.stores)
	group := m.heads / len(m.stores)
	dst, q := m.dst.Row(row)[h*group*m.dv:(h+1)*group*m.dv], m.q.Row(row)[h*group*m.d:(h+1)*group*m.d]
	m.stores[h].attend(rowsOf(dst, m.dv), rowsOf(q, m.d))
}

func (m *memory[T]) Step(dst, q, k, v dense.Matrix[T]) {
	for i := range q.Rows {
		m.Append(k.RowRange(i, i+1), v.RowRange(i, i+1))
		m.Attend(dst.RowRange(i, i+1), q.RowRange(i, i+1))
	}
}

func (m *memory[T]) Reset() { m.Restore(nil, 0) }

func (m *memory[T]) Clone() streams.Memory[T] {
	c := *m
	c.arrivals = m.arrivals.Clone()
	c.stores = make([]store[T], len(m.stores))
	for h := range m.stores {
		c.stores[h] = m.stores[h].clone()
	}
	return &c
}

func (m *memory[T]) Save(to *streams.Saved[T]) { to.Last = m.arrivals.Last(m.tokens) }

func (m *memory[T]) Holds(from *streams.Saved[T], tokens int) bool {
	return m.arrivals.Hold(tokens, from.Last)
}

func (m *memory[T]) Restore(_ *streams.Saved[T], tokens int) {
	m.arrivals.Truncate(tokens)
	m.tokens = tokens
	for h := range m.stores {
		m.stores[h].truncate(tokens)
	}
}

// Check returns an error unless other has clusters of the same parameters.
func (m *memory[T]) Check(other streams.Memory[T]) error {
	o, ok := other.(*memory[T])
	if !ok {
		return errors.New("clusters: other belongs to other attention, the state to attention by clusters")
	}
	return m.Record().CheckMerge(o.Record())
}

// Merge takes in the tokens of other after its own.
func (m *memory[T]) Merge(other streams.Memory[T]) {
	o := other.(*memory[T])
	n := o.tokens
	if n == 0 {
		return
	}
	m.arrivals.Extend(n)
	m.tokens += n
	for h := range m.stores {
		k, v := o.stores[h].inOrder()
		m.stores[h].append(k, v)
	}
}

func (m *memory[T]) Record() streams.Record {
	o, seed := m.a.opts, m.a.seed
	return streams.Record{Flags: streams.FlagKeys | streams.FlagClusters, Scale: m.a.scale(m.d), Options: []streams.Option{
		{Name: "Clusters", Value: o.Clusters}, {Name: "Threshold", Value: o.Threshold}, {Name: "Iterations", Value: o.Iterations},
		{Name: "Bits", Value: m.a.options.Bits}, {Name: "the first word of src", Value: seed[0]}, {Name: "the second word of src", Value: seed[1]},
	}}
}

func (m *memory[T]) Size(int) (fixed, token int) {
	return 0, len(m.stores) * (m.d + m.dv) * frame.ElementSize[T]()
}

// Encode appends the keys and values of all tokens.
func (m *memory[T]) Encode(b []byte) []byte {
	for h := range m.stores {
		k, v := m.stores[h].inOrder()
		b = frame.AppendElements(frame.AppendElements(b, k.Data), v.Data)
	}
	return b
}

// Inspect returns no error, because all keys and values are valid.
func (m *memory[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	_, token := m.Size(tokens)
	return b[tokens*token:], nil
}

func (m *memory[T]) Decode(b []byte, tokens int) (rest []byte) {
	m.Reset()
	m.arrivals.Extend(tokens)
	m.tokens = tokens
	for h := range m.stores {
		k, v := dense.New[T](tokens, m.d), dense.New[T](tokens, m.dv)
		b = frame.ReadElements(v.Data, frame.ReadElements(k.Data, b))
		m.stores[h].append(k, v)
	}
	return b
}

// store holds the tokens of one head of keys of a stream: complete segments, which do not change
// and which copies of the store share, and the tokens after them. The last segment becomes complete
// when a token follows it.
type store[T dense.Float] struct {
	a     *attention[T]
	d, dv int
	index index[T]
	k, v  []T // of the tokens after the segments
}

// rowsOf returns data as a matrix of cols columns.
func rowsOf[T dense.Float](data []T, cols int) dense.Matrix[T] {
	return dense.Of(len(data)/cols, cols, data)
}

// last returns the keys and values of the tokens after the segments.
func (s *store[T]) last() (k, v dense.Matrix[T]) { return rowsOf(s.k, s.d), rowsOf(s.v, s.dv) }

// append appends tokens.
func (s *store[T]) append(k, v dense.Matrix[T]) {
	for i := range k.Rows {
		if len(s.k) == segmentKeys*s.d {
			lastK, lastV := s.last()
			if len(s.index.segments) == 0 {
				s.index.begin(lastK)
			}
			g := new(segment[T])
			g.build(s.a, lastK, lastV, s.index.centre)
			s.index.add(g)
			s.k, s.v = s.k[:0], s.v[:0]
		}
		s.k, s.v = append(s.k, k.Row(i)...), append(s.v, v.Row(i)...)
	}
}

// truncate keeps the first n tokens.
func (s *store[T]) truncate(n int) {
	complete := max(n-1, 0) / segmentKeys
	if complete < len(s.index.segments) {
		g := s.index.segments[complete]
		s.k, s.v = scratch.Resize(s.k, segmentKeys*s.d), scratch.Resize(s.v, segmentKeys*s.dv)
		g.copyTo(s.last())
		s.index.truncate(complete)
	}
	left := n - complete*segmentKeys
	s.k, s.v = s.k[:left*s.d], s.v[:left*s.dv]
}

// inOrder returns copies of all keys and values.
func (s *store[T]) inOrder() (k, v dense.Matrix[T]) {
	complete := len(s.index.segments) * segmentKeys
	lastK, lastV := s.last()
	n := complete + lastK.Rows
	k, v = dense.New[T](n, s.d), dense.New[T](n, s.dv)
	for i, g := range s.index.segments {
		lo, hi := i*segmentKeys, (i+1)*segmentKeys
		g.copyTo(k.RowRange(lo, hi), v.RowRange(lo, hi))
	}
	dense.Copy(k.RowRange(complete, n), lastK)
	dense.Copy(v.RowRange(complete, n), lastV)
	return k, v
}

// clone returns a copy of s.
func (s *store[T]) clone() store[T] {
	c := store[T]{a: s.a, d: s.d, dv: s.dv, index: s.index, k: slices.Clone(s.k), v: slices.Clone(s.v)}
	c.index.truncate(len(c.index.segments))
	return c
}

// attend writes the outputs of the queries q over all tokens of s to dst.
func (s *store[T]) attend(dst, q dense.Matrix[T]) {
	b := pool.Get[accumulator[T]](&accumulators)
	b.begin(q.Rows, s.d, s.dv, s.a.scale(s.d), s.a.threshold)
	k, v := s.last()
	b.places = b.places[:0]
	for range q.Rows {
		b.places = append(b.places, k.Rows-1)
	}
	b.addOwn(q, k, v, 0)
	b.encode(s.a, q)
	segments := len(s.index.segments)
	b.addPart(&s.index, segments, q, 0, q.Rows)
	b.addScored(&s.index, segments, q)
	if bad := b.finish(dst); len(bad) > 0 {
		e := pool.Get[exactScratch[T]](&exactScratches)
		e.places = e.places[:0]
		k, v := s.inOrder()
		e.attend(dst, q, k, v, bad, b.scale)
		pool.Put(&exactScratches, e)
	}
	pool.Put(&accumulators, b)
}
