package store

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// newOf returns a store with codes of so many bits, or with elements for 0, whose queries choose
// topK keys, or read all for 0.
func newOf[T dense.Float](bits [2]int, topK int, scores []tiles.Scores, places Places, d, dv int) *Store[T] {
	return must.Have(newTokens[T](Exact{bits[0], bits[1], scores, places, []TopK{{Keys: topK}}, 1, 1, d, dv}))
}

// After random operations outputs are plain attention over decoded rows, and decoded rows are near
// the tokens.
func TestRandomOperations(t *testing.T) {
	const d, dv = 20, 9
	seed := uint64(0)
	for i, bits := range [][2]int{{8, 8}, {4, 4}, {8, 4}, {16, 8}, {4, 16}, {3, 3}, {0, 0}, {8, 8}, {4, 3}, {3, 8}, {0, 0}} {
		all := []Places{{}, {Slope: 0.01}, {Window: 30}, {Window: 130, Sinks: 70, Slope: 0.02}, {Window: 500, Sinks: 3}}
		if i >= 7 {
			all = []Places{{Chunk: 150}, {Chunk: 1}, {Chunk: 40, Slope: 0.02}}
		}
		for _, places := range all {
			seed++
			topK := []int{0, 3, 40}[seed%3]
			scores := []tiles.Scores{{Scale: 0.3, Softcap: float64(seed%3) * 4}}
			empty := func() *Store[float64] { return newOf[float64](bits, topK, scores, places, d, dv) }
			o := operations{t: t, rng: rand.New(rand.NewPCG(seed, 1)), d: d, dv: dv, s: empty()}
			for range 100 {
				o.some(empty)
			}
		}
	}
}

// Without a window slabs are at most 1.5 times the tokens from 10,000 on, and grow by copies of the
// first alone. A window of W keeps the slabs of its tokens, of W/16 tokens for Rollback and of at
// most a quarter of the window at either end. Files have the segments that a query sees.
func TestRoom(t *testing.T) {
	const d = 64
	for _, c := range [...]struct {
		window          int
		elements, codes float64 // tokens in slabs over those that a query sees
		file            float64
	}{{63, 13, 4, 3}, {255, 4, 2, 1.5}, {1000, 1.6, 1.6, 1.2}, {4096, 1.6, 1.6, 1.1}, {0, 1.2, 1.2, 1.1}} {
		for _, bits := range []int{0, 3, 4, 8, 16} {
			empty := func(window int) *Store[float32] {
				return newOf[float32]([2]int{bits, bits}, 0, []tiles.Scores{{Scale: 1}}, Places{Window: window}, d, d)
			}
			s, seen, most := empty(c.window), 20*1003, c.codes
			if c.window > 0 {
				seen = c.window + 1
			}
			if bits == 0 {
				most = c.elements
			}
			for range 20 {
				x := dense.New[float32](1003, d)
				s.Append(x, x)
			}
			l, room := slabsOf(s), 0
			for _, slab := range append(l.list, l.spare...) {
				room += slab.room
			}
			file := float64(s.counts(s.tokens()).bytes()) / (float64(l.counts().bytes()) * float64(seen) / Segment)
			t.Logf("window %d, %d bits: %.2f in slabs of %d, %.2f in a file", c.window, bits, float64(room)/float64(seen), l.size, file)
			require.Less(t, float64(room), most*float64(seen), "window %d, %d bits", c.window, bits)
			if open := float64(4*2*d*s.run) / float64(l.counts().bytes()) * Segment / float64(seen); bits > 0 {
				require.Less(t, file, c.file+2*open, "window %d, %d bits", c.window, bits)
			}
		}
	}
}

// A mark before Merge has the tokens that it had, open ones too.
func TestRestoreBeforeMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	x, q := densetest.Normal[float64](rng, 1000, 3, 0, 1), densetest.Normal[float64](rng, 1, 3, 0, 1)
	for _, bits := range []int{0, 8} {
		s := newOf[float64]([2]int{bits, bits}, 0, []tiles.Scores{{Scale: 1}}, Places{}, 3, 3)
		s.Append(x.RowRange(0, 300), x.RowRange(0, 300))
		want, got, other := dense.New[float64](1, 3), dense.New[float64](1, 3), s.Clone()
		s.Attend(want, q)
		other.Append(x, x)
		var mark Saved[float64]
		s.Save(&mark)
		s.Merge(other)
		require.Equal(t, 1600, s.tokens())
		require.True(t, s.Holds(&mark, 300))
		s.Restore(&mark, 300)
		s.Attend(got, q)
		require.Equal(t, want.Data, got.Data, "%d bits", bits)
	}
}

func slabsOf[T dense.Float](s *Store[T]) *slabs[T] {
	switch c := s.content.(type) {
	case *elements[T]:
		return &c.slabs
	case *codes[T]:
		return &c.slabs
	}
	return nil
}

// operations holds a memory and all tokens that it stands for.
type operations struct {
	t     *testing.T
	rng   *rand.Rand
	d, dv int
	s     *Store[float64]
	k, v  [][]float64
	marks []mark
}

type mark struct {
	saved Saved[float64]
	k, v  [][]float64
}

// normal returns some tokens around a mean.
func (o *operations) normal() (k, v dense.Matrix[float64]) {
	n := 1 + o.rng.IntN(3)
	if o.rng.IntN(4) == 0 {
		n = o.rng.IntN(300) + 1
	}
	return densetest.Normal[float64](o.rng, n, o.d, 0.5, 1), densetest.Normal[float64](o.rng, n, o.dv, 2, 1)
}

func (o *operations) append(k, v dense.Matrix[float64]) {
	for i := range k.Rows {
		o.k, o.v = append(o.k, k.Row(i)), append(o.v, v.Row(i))
	}
}

func (o *operations) some(empty func() *Store[float64]) {
	s := o.s
	if len(o.k) > 1000 && (s.of.Places.reach() < 300 || len(o.k) > 2000) {
		s.Reset()
		o.k, o.v, o.marks = nil, nil, nil
	}
	switch o.rng.IntN(9) {
	case 0, 1:
		k, v := o.normal()
		o.append(k, v)
		s.Append(k, v)
	case 2, 3:
		k, v := o.normal()
		o.append(k, v)
		q, out := densetest.Normal[float64](o.rng, k.Rows, o.d, 0, 1), dense.New[float64](k.Rows, o.dv)
		s.Step(out, q, k, v)
		o.check(q.Row(k.Rows-1), out.Row(k.Rows-1))
	case 4:
		m := mark{k: o.k[:len(o.k):len(o.k)], v: o.v[:len(o.v):len(o.v)]}
		s.Save(&m.saved)
		o.marks = append(o.marks, m)
	case 5:
		if len(o.marks) == 0 {
			return
		}
		m := o.marks[o.rng.IntN(len(o.marks))]
		if !s.Holds(&m.saved, len(m.k)) {
			n := len(m.k)
			replaced := len(o.k) < n || n > 0 && &o.k[n-1][0] != &m.k[n-1][0]
			require.True(o.t, replaced || n < len(o.k)-s.of.Places.spare() && s.of.Places.drops(), "%d of %d tokens", n, len(o.k))
			return
		}
		s.Restore(&m.saved, len(m.k))
		o.k, o.v = m.k, m.v
	case 6:
		c := empty()
		k, v := o.normal()
		c.Append(k, v) // which are to be forgotten
		r := s.Recipe()
		require.NoError(o.t, c.Inspect(r, len(o.k)))
		c.Decode(r, len(o.k))
		o.s, o.marks = c, nil
	case 7:
		other := operations{t: o.t, rng: o.rng, d: o.d, dv: o.dv, s: empty()}
		k, v := o.normal()
		other.append(k, v)
		other.s.Append(k, v)
		if s.Check(other.s) != nil {
			require.True(o.t, s.of.Places.drops() || s.of.Places.Slope != 0)
			return
		}
		a, b := s.closed, other.s.closed
		if _, ok := s.content.(*elements[float64]); ok { // which keep their order
			a = len(o.k)
		}
		order := func(x, y [][]float64) (all [][]float64) {
			return append(append(append(append(all, x[:a]...), y[:b]...), x[a:]...), y[b:]...)
		}
		s.Merge(other.s)
		o.k, o.v = order(o.k, other.k), order(o.v, other.v)
	case 8: // a copy goes on, and the other store, which gets other tokens, stays
		c := s.Clone()
		k, v := o.normal()
		s.Append(k, v)
		o.s, o.marks = c.(*Store[float64]), nil
	}
	require.Equal(o.t, len(o.k), o.s.tokens())
	if len(o.k) > 0 && o.rng.IntN(4) == 0 {
		q, out := densetest.Normal[float64](o.rng, 1, o.d, 0, 1), dense.New[float64](1, o.dv)
		o.s.Attend(out, q)
		o.check(q.Row(0), out.Row(0))
	}
}

// check compares an output with attention over decoded rows.
func (o *operations) check(q, got []float64) {
	s := o.s
	var b segmentScratch[float64]
	sum, size, total := make([]float64, o.dv), 0.0, 0.0
	last := len(o.k) - 1
	rest, means := o.rest(q)
	for i := range o.k {
		key, value := make([]float64, o.d), make([]float64, o.dv)
		if s.of.Places.Window > 0 && i >= s.of.Places.Sinks && i < last-s.of.Places.Window {
			continue
		}
		if c := s.of.Places.Chunk; c > 0 && i/c != last/c {
			continue
		}
		bits, order := [2]int{64, 64}, [2]int{o.d, o.dv}
		switch c := s.content.(type) {
		case *codes[float64]:
			bits, order = [2]int{c.sides[0].bits, c.sides[1].bits}, [2]int{c.sides[0].order, c.sides[1].order}
			if i < s.closed {
				c.decodeToken(&b, [2][]float64{key, value}, i, 0)
			}
		case *elements[float64]:
			if i < s.closed {
				slab, row := c.at(i, 0)
				copy(key, slab.elements[0].of(row, 1))
				copy(value, slab.elements[1].of(row, 1))
			}
		}
		if i >= s.closed {
			k, v := s.recent(0)
			copy(key, k.Row(i-s.closed))
			copy(value, v.Row(i-s.closed))
		}
		for side, x := range [2][2][]float64{{key, o.k[i]}, {value, o.v[i]}} {
			// ranges are 8
			near := 4 * math.Sqrt(float64(order[side])) / math.Exp2(float64(bits[side]))
			if distance := floats.Distance(x[0], x[1], 2); !(distance <= near) {
				require.LessOrEqual(o.t, distance, near, "token %d of %d", i, len(o.k))
			}
		}
		score := s.of.Scores[0].Scale * floats.Dot(q, key)
		if c := s.of.Scores[0].Softcap; c != 0 {
			score = c * math.Tanh(score/c)
		}
		w := math.Exp(score - s.of.Places.Slope*float64(last-i))
		if estimate, ok := rest[i]; ok {
			w, value = math.Exp(estimate), means[i/Segment]
		}
		floats.AddScaled(sum, w, value)
		size += w * floats.Norm(value, 2)
		total += w
	}
	for l := range sum {
		require.InDelta(o.t, sum[l]/total, got[l], 2e-4*size/total, "%d tokens", len(o.k))
	}
}
