package tiles

import (
	"math"
	"slices"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Mask says which keys queries of one head see, and what is added to scores. A query has a place
// among the keys. With the zero Mask every query sees every key.
type Mask[T dense.Float] struct {
	Past   int   // query i has the place Past + i unless Places is set, key j Before + j
	Places []int // query i has the place Places[i]; places ascend

	Causal bool   // a query does not see keys after its place
	Window int    // if above 0, a query sees only keys at most Window places away, and sinks
	Sinks  int    // number of first keys that the Window does not hide
	Chunk  int    // if above 0, a query sees only keys of its own chunk of Chunk places
	Before int    // place of key 0, less than 0 for padding
	Valid  []bool // keys that count; nil if all do

	// Slope times the distance between the places of query and key is subtracted from a score.
	Slope float64

	Pairs Pairs[T]
}

// Place returns the place of query i, counted from key 0.
func (m *Mask[T]) Place(i int) int {
	if m.Places != nil {
		return m.Places[i] - m.Before
	}
	return m.Past + i - m.Before
}

func (m *Mask[T]) sinks() int { return m.Sinks - m.Before }

// local reports whether queries see only keys near their place, apart from sinks.
func (m *Mask[T]) local() bool { return m.Window > 0 || m.Chunk > 0 }

// near returns the places from ≤ p < to of the queries that see key j, and of the keys that a query
// with place j sees, apart from Causal, sinks and Valid. The mask is local.
func (m *Mask[T]) near(j int) (from, to int) {
	if m.Chunk > 0 {
		from = j - ((j+m.Before)%m.Chunk+m.Chunk)%m.Chunk
		return from, from + m.Chunk
	}
	return j - m.Window, j + m.Window + 1
}

// Together reports whether the keys lo ≤ j < hi are of one chunk.
func (m *Mask[T]) Together(lo, hi int) bool {
	if m.Chunk == 0 {
		return true
	}
	_, to := m.near(lo)
	return hi <= to
}

func (m *Mask[T]) from(place, first, end int) int {
	place += m.Before
	if m.Places != nil {
		return sort.SearchInts(m.Places[first:end], place)
	}
	return min(max(place-m.Past-first, 0), end-first)
}

// Queries returns the run of queries from ≤ i − first < to, of the queries first ≤ i < end, that
// see key j, apart from Pairs.
func (m *Mask[T]) Queries(j, first, end int) (from, to int) {
	to = end - first
	switch sink := j < m.sinks(); {
	case m.Valid != nil && !m.Valid[j]:
		return 0, 0
	case m.local() && !sink:
		low, high := m.near(j)
		if m.Causal {
			low = j
		}
		from, to = m.from(low, first, end), m.from(high, first, end)
	case m.Causal:
		from = m.from(j, first, end)
	}
	return from, to
}

type run struct{ from, to int }

// keys returns the runs of n keys that the queries first ≤ i < end see, apart from Valid and Pairs:
// the sinks before the window, and the other keys.
func (m *Mask[T]) keys(first, end, n int) [2]run {
	low, high := 0, n
	if m.local() {
		_, high = m.near(m.Place(end - 1))
	}
	if m.Causal {
		high = m.Place(end-1) + 1
	}
	sinks := min(m.sinks(), n)
	if m.Causal {
		sinks = min(sinks, high)
	}
	high = min(max(high, 0), n)
	if m.local() {
		low, _ = m.near(m.Place(first))
		low = min(max(low, 0), high)
	}
	// A tile with sinks and keys of the window is one sum, whatever the first query is.
	if sinks >= low || sinks > low/Keys*Keys {
		return [2]run{{}, {0, max(high, sinks)}}
	}
	return [2]run{{0, max(sinks, 0)}, {low, high}}
}

// A tile has the keys from a multiple of [Keys] to the next multiple.
type Part struct{ From, To int }

// AppendParts appends the parts of n keys that the queries first ≤ i < end see, apart from Valid
// and Pairs. A tile may have two parts.
func (m *Mask[T]) AppendParts(parts []Part, first, end, n int) []Part {
	for _, keys := range m.keys(first, end, n) {
		for lo := keys.from; lo < keys.to; {
			hi := min((lo/Keys+1)*Keys, keys.to)
			parts = append(parts, Part{lo, hi})
			lo = hi
		}
	}
	return parts
}

// seeing returns the run of n queries that see one of the keys lo ≤ j < hi, apart from Valid and
// Pairs.
func (m *Mask[T]) seeing(lo, hi, n int) run {
	from, to := 0, n
	if m.local() && lo >= m.sinks() {
		low, _ := m.near(lo)
		_, high := m.near(hi - 1)
		from, to = m.from(low, 0, n), m.from(high, 0, n)
	}
	if m.Causal {
		from = m.from(lo, 0, n)
	}
	return run{from, to}
}

// Sees reports whether all queries first ≤ i < end see all keys lo ≤ j < hi, apart from Pairs.
func (m *Mask[T]) Sees(first, end, lo, hi int) bool {
	at := m.Place(first)
	if m.Causal && at < hi-1 {
		return false
	}
	if m.local() && hi > m.sinks() {
		low, _ := m.near(m.Place(end - 1))
		_, high := m.near(at)
		if low > lo || !m.Causal && high < hi {
			return false
		}
	}
	return m.Valid == nil || !slices.Contains(m.Valid[lo:hi], false)
}

type maskView[T dense.Float] struct {
	mask       *Mask[T]        // nil if each query sees each key and nothing is added
	first, end int             // queries
	lo         int             // the first key
	closed     bool            // a query does not see one of the keys
	changes    dense.Matrix[T] // keys×queries, with pairs: added to scores, −Inf for closed pairs
	slopes     *slopes[T]      // nil without a slope
}

// view returns the view of a tile. With pairs it uses memory for Keys×(end−first) changes.
func (m *Mask[T]) view(first, end, lo, hi int, memory *scratch.Buffer[T], s *slopes[T]) maskView[T] {
	w := maskView[T]{mask: m, first: first, end: end, lo: lo}
	if m.Slope != 0 {
		w.slopes = s
		s.prepare(m, first, end, lo, hi)
	}
	if m.Pairs.Given() {
		w.closed = true
		memory.Shape(Keys, end-first)
		w.changes = memory.Rows(hi - lo)
		m.changes(w.changes, first, lo)
		return w
	}
	w.closed = !m.Sees(first, end, lo, hi)
	return w
}

func (w *maskView[T]) apply(j int, scores []T) {
	if w.slopes != nil {
		w.slopes.apply(w, w.lo+j, scores)
	}
	switch {
	case !w.closed:
	case w.changes.Rows > 0:
		addChanges(scores, w.changes.Row(j))
	default:
		from, to := w.mask.Queries(w.lo+j, w.first, w.end)
		closed := T(math.Inf(-1))
		layout.Fill(scores[:from], closed)
		layout.Fill(scores[max(from, to):], closed)
	}
}

func (w *maskView[T]) clear(j int, x []T) {
	switch {
	case !w.closed:
	case w.changes.Rows > 0:
		closed := T(math.Inf(-1))
		for i, c := range w.changes.Row(j) {
			if c == closed {
				x[i] = 0
			}
		}
	default:
		from, to := w.mask.Queries(w.lo+j, w.first, w.end)
		clear(x[:from])
		clear(x[max(from, to):])
	}
}

func (w *maskView[T]) open(j, i int) bool {
	if w.changes.Rows > 0 {
		return w.changes.At(j, i) != T(math.Inf(-1))
	}
	from, to := w.mask.Queries(w.lo+j, w.first, w.end)
	return from <= i && i < to
}

// product adds s·x to y by mul. s are weights of pairs, keys×queries. The rows of x belong to the
// queries if ofQueries is set, and otherwise to the keys; the rows of y belong to the other side. A
// pair whose query does not see the key has the weight zero, and adds nothing even if x is not
// finite. clean is memory for x.
func (w *maskView[T]) product(mul func(s, x, y dense.Matrix[T]), y, s, x dense.Matrix[T], factor T, ofQueries bool, clean *scratch.Buffer[T]) {
	if !w.closed || layout.Finite(x) {
		mul(s, x, y)
		return
	}
	clean.Shape(x.Rows, x.Cols)
	mul(s, withoutInfinite(clean.Rows(x.Rows), x), y)
	for r := range x.Rows {
		for c, v := range x.Row(r) {
			if v-v == 0 {
				continue
			}
			for o := range y.Rows {
				j, i := r, o
				if ofQueries {
					j, i = o, r
				}
				if w.open(j, i) {
					y.Row(o)[c] += factor * s.At(j, i) * v
				}
			}
		}
	}
}

func withoutInfinite[T dense.Float](dst, x dense.Matrix[T]) dense.Matrix[T] {
	for r := range x.Rows {
		to := dst.Row(r)
		for c, v := range x.Row(r) {
			if to[c] = v; v-v != 0 {
				to[c] = 0
			}
		}
	}
	return dst
}

// slopes holds what the slope subtracts from scores of some queries and the keys of a tile, by the
// place of the query less that of the key. So a score does not depend on the other queries.
type slopes[T dense.Float] struct {
	least     int // the first difference of places
	penalties []T
}

func (s *slopes[T]) prepare(m *Mask[T], first, end, lo, hi int) {
	s.least = m.Place(first) - hi + 1
	s.penalties = scratch.Resize(s.penalties, m.Place(end-1)-lo-s.least+1)
	for i := range s.penalties {
		s.penalties[i] = T(m.Slope * math.Abs(float64(s.least+i)))
	}
}

func (s *slopes[T]) apply(w *maskView[T], j int, scores []T) {
	penalties := s.penalties[w.mask.Place(w.first)-j-s.least:]
	if w.mask.Places == nil {
		vecmath.AddScaled(scores, penalties[:len(scores)], -1)
		return
	}
	for i := range scores {
		scores[i] -= penalties[w.mask.Place(w.first+i)-w.mask.Place(w.first)]
	}
}
