package clusters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
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

// clusteredAt returns, for n tokens, the number of tokens at the last run of k-means, 0 for none,
// and the number of tokens in clusters.
func clusteredAt(n int) (begin, clustered int) {
	if n < firstKeys {
		return 0, 0
	}
	for begin = firstKeys; begin <= n/2; begin *= 2 {
	}
	return begin, begin - window + (n-begin)/window*window
}

func (m *memory[T]) Append(k, v dense.Matrix[T]) {
	m.arrivals.Extend(k.Rows)
	m.tokens += k.Rows
	for h := range m.stores {
		s := &m.stores[h]
		s.appendRecent(layout.Head(k, h, len(m.stores)), layout.Head(v, h, len(m.stores)))
		s.update(m.tokens)
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
	w := pool.Get[stepScratch[T]](&stepScratches)
	w.attend(&m.stores[h], rowsOf(dst, m.dv), rowsOf(q, m.d))
	pool.Put(&stepScratches, w)
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
	if a, b := m.scale(), o.scale(); a != b {
		return fmt.Errorf("clusters: Scale = %v, but the state belongs to attention with %v", b, a)
	}
	return m.checkParameters(o.parameters())
}

func (m *memory[T]) scale() float64 { return m.a.scale(m.d) }

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
		k, v := o.stores[h].inOrder(n)
		m.stores[h].appendRecent(k, v)
		m.stores[h].update(m.tokens)
	}
}

func (m *memory[T]) Record() streams.Record {
	return streams.Record{Flags: streams.FlagKeys | streams.FlagClusters, Scale: m.scale()}
}

// parameterNames are the names of the parameters in an encoded state. The last parameter is zero:
// it was for centres that the caller chose.
var parameterNames = [...]string{"Clusters", "Threshold", "Iterations", "Sample", "seed", "seed", "centres"}

// parameters are the options and the seed of an attention, as in an encoded state.
type parameters [len(parameterNames)]uint64

func (m *memory[T]) parameters() parameters {
	o := m.a.opts
	return parameters{uint64(o.Clusters), math.Float64bits(o.Threshold), uint64(o.Iterations), uint64(o.Sample), m.a.seed[0], m.a.seed[1]}
}

// checkParameters returns an error unless m has the same parameters.
func (m *memory[T]) checkParameters(other parameters) error {
	for i, want := range m.parameters() {
		if other[i] != want {
			return fmt.Errorf("clusters: state of a form with other %s, want the same Options and the same seed", parameterNames[i])
		}
	}
	return nil
}

func (m *memory[T]) Size(int) (fixed, token int) {
	return 8 * len(parameterNames), len(m.stores) * (m.d + m.dv) * frame.ElementSize[T]()
}

// Encode appends the parameters, then the keys and values of all tokens.
func (m *memory[T]) Encode(b []byte) []byte {
	for _, word := range m.parameters() {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	for h := range m.stores {
		k, v := m.stores[h].inOrder(m.tokens)
		b = frame.AppendElements(frame.AppendElements(b, k.Data), v.Data)
	}
	return b
}

// Inspect returns an error if the parameters differ. All keys and values are valid.
func (m *memory[T]) Inspect(b []byte, tokens int) (rest []byte, err error) {
	var other parameters
	for i := range other {
		other[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	fixed, token := m.Size(tokens)
	return b[fixed+tokens*token:], m.checkParameters(other)
}

func (m *memory[T]) Decode(b []byte, tokens int) (rest []byte) {
	m.Reset()
	m.arrivals.Extend(tokens)
	m.tokens = tokens
	b = b[8*len(parameterNames):]
	for h := range m.stores {
		k, v := dense.New[T](tokens, m.d), dense.New[T](tokens, m.dv)
		b = frame.ReadElements(v.Data, frame.ReadElements(k.Data, b))
		m.stores[h].appendRecent(k, v)
		m.stores[h].update(tokens)
	}
	return b
}
