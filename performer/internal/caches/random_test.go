package caches

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// After random operations outputs are plain attention over decoded rows, and decoded rows are near
// the tokens.
func TestRandomOperations(t *testing.T) {
	const d, dv = 20, 9
	seed := uint64(0)
	for i, bits := range [][2]int{{8, 8}, {4, 4}, {8, 4}, {16, 8}, {4, 16}, {8, 8}, {4, 8}} {
		all := []streams.Places{{}, {Slope: 0.01}, {Window: 30}, {Window: 130, Sinks: 70, Slope: 0.02}, {Window: 500, Sinks: 3}}
		if i >= 5 {
			all = []streams.Places{{Chunk: 150}, {Chunk: 1}, {Chunk: 40, Slope: 0.02}}
		}
		for _, places := range all {
			seed++
			scores := streams.HeadScores{Scores: tiles.Scores{Scale: 0.3, Softcap: float64(seed%3) * 4, Unnormalised: seed%4 == 0}}
			empty := func() *Memory[float64] { return must.Have(New[float64](bits[0], bits[1], scores, places, 1, 1, d, dv)) }
			o := operations{t: t, rng: rand.New(rand.NewPCG(seed, 1)), d: d, dv: dv, s: empty()}
			for range 400 {
				o.some(empty)
			}
		}
	}
}

// Memory and files are at most 1.5 times the codes, in blocks of 64, of the tokens that a query sees.
// Small windows need more: the elements of a block of 16 tokens, codes of 64 tokens for Rollback and
// of a block that the window has left in part, and the means of blocks.
func TestRoom(t *testing.T) {
	const d = 64
	for _, c := range [...]struct {
		window              int
		four, sixteen, file float64
	}{{15, 13.8, 8.3, 6.3}, {63, 4.35, 2.9, 2.5}, {255, 2, 1.55, 1.5}, {1000, 1.5, 1.5, 1.3}, {4096, 1.5, 1.5, 1.15}, {0, 1.5, 1.5, 1.05}} {
		for _, bits := range []int{4, 8, 16} {
			empty := func(window int) *Memory[float32] {
				return must.Have(New[float32](bits, bits, streams.HeadScores{Scores: tiles.Scores{Scale: 1}}, streams.Places{Window: window}, 1, 1, d, d))
			}
			s, seen, most := empty(c.window), 20*1003, c.four
			if c.window > 0 {
				seen = c.window + 1
			}
			if bits == 16 {
				most = c.sixteen
			}
			for range 20 {
				x := dense.New[float32](1003, d)
				s.Append(x, x)
			}
			tokens := float64(seen*empty(0).blockSize()) / many
			memory := 4*(len(s.keys.recent)+len(s.values.recent)) + s.room/s.together*s.blockSize()
			t.Logf("window %d, %d bits: %.2f in memory, %.2f in a file", c.window, bits, float64(memory)/tokens, float64(len(s.Encode(nil)))/tokens)
			require.Less(t, float64(memory), most*tokens, "window %d, %d bits", c.window, bits)
			require.Less(t, float64(len(s.Encode(nil))), c.file*tokens, "window %d, %d bits", c.window, bits)
		}
	}
}

// operations holds a memory and all tokens that it stands for.
type operations struct {
	t     *testing.T
	rng   *rand.Rand
	d, dv int
	s     *Memory[float64]
	k, v  [][]float64
	marks []mark
}

type mark struct {
	saved streams.Saved[float64]
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

func (o *operations) some(empty func() *Memory[float64]) {
	s := o.s
	if len(o.k) > 1000 && (s.places.Reach() < 300 || len(o.k) > 2000) {
		s.Reset()
		o.k, o.v, o.marks = nil, nil, nil
	}
	switch o.rng.IntN(8) {
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
			require.True(o.t, s.dropped > 0 || replaced || s.places.Reach() == 0)
			return
		}
		s.Restore(&m.saved, len(m.k))
		o.k, o.v = m.k, m.v
	case 6:
		c := empty()
		k, v := o.normal()
		c.Append(k, v) // which are to be forgotten
		data := s.Encode(nil)
		fixed, token := s.Size(len(o.k))
		require.Len(o.t, data, fixed+len(o.k)*token)
		rest, err := c.Inspect(data, len(o.k))
		require.NoError(o.t, err)
		require.Empty(o.t, rest)
		require.Empty(o.t, c.Decode(data, len(o.k)))
		o.s, o.marks = c, nil
	case 7:
		other := operations{t: o.t, rng: o.rng, d: o.d, dv: o.dv, s: empty()}
		k, v := o.normal()
		other.append(k, v)
		other.s.Append(k, v)
		if s.Check(other.s) != nil {
			require.True(o.t, s.places.Placed())
			return
		}
		a, b := s.coded, other.s.coded
		order := func(x, y [][]float64) (all [][]float64) {
			return append(append(append(append(all, x[:a]...), y[:b]...), x[a:]...), y[b:]...)
		}
		s.Merge(other.s)
		o.k, o.v = order(o.k, other.k), order(o.v, other.v)
	}
	require.Equal(o.t, len(o.k), o.s.tokens+o.s.dropped)
	if len(o.k) > 0 && o.rng.IntN(4) == 0 {
		q, out := densetest.Normal[float64](o.rng, 1, o.d, 0, 1), dense.New[float64](1, o.dv)
		o.s.Attend(out, q)
		o.check(q.Row(0), out.Row(0))
	}
}

// check compares an output with attention over decoded rows.
func (o *operations) check(q, got []float64) {
	s := o.s
	var b block[float64]
	key, value := make([]float64, o.d), make([]float64, o.dv)
	sum, size, total := make([]float64, o.dv), 0.0, 0.0
	last := len(o.k) - 1
	for i := range o.k {
		if s.places.Window > 0 && i >= s.places.Sinks && i < last-s.places.Window {
			continue
		}
		if c := s.places.Chunk; c > 0 && i/c != last/c {
			continue
		}
		at := i
		if i >= s.sinks() {
			at -= s.dropped
		}
		if at < s.coded {
			b.decode(&s.keys, key, at)
			b.decode(&s.values, value, at)
		} else {
			k, v := s.recent(0)
			copy(key, k.Row(at-s.coded))
			copy(value, v.Row(at-s.coded))
		}
		for _, x := range [...]struct {
			decoded, token []float64
			bits           int
		}{{key, o.k[i], s.keys.codes.bits}, {value, o.v[i], s.values.codes.bits}} {
			near := 4 * math.Sqrt(float64(len(x.token))) / math.Exp2(float64(x.bits))
			require.Less(o.t, floats.Distance(x.decoded, x.token, 2), near, "token %d of %d", i, len(o.k))
		}
		score := s.scores.Scale * floats.Dot(q, key)
		if c := s.scores.Softcap; c != 0 {
			score = c * math.Tanh(score/c)
		}
		w := math.Exp(score - s.places.Slope*float64(last-i))
		floats.AddScaled(sum, w, value)
		size += w * floats.Norm(value, 2)
		total += w
	}
	if s.scores.Unnormalised {
		total = 1
	}
	for l := range sum {
		require.InDelta(o.t, sum[l]/total, got[l], 2e-4*size/total, "%d tokens", len(o.k))
	}
}
