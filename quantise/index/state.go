package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

type fixedSettings struct {
	d       int
	measure quantise.Measure
	bits    float64 // of quantise.Learn; 0 if the user has given the quantiser
	keeps   bool    // Options.KeepRows
	seed    [2]uint64
}

func (o *fixedSettings) check() error {
	switch {
	case o.measure < quantise.InnerProduct || o.measure > quantise.SquaredDistance:
		return fmt.Errorf("index: Measure = %d, want one of the constants", int(o.measure))
	case o.bits != 0 && !(o.bits >= 1./8 && o.bits <= 8):
		return fmt.Errorf("index: Bits = %v, want from 1/8 to 8, or 0 for 4", o.bits)
	}
	return nil
}

func (o *fixedSettings) source() rand.Source { return rand.NewPCG(o.seed[0], o.seed[1]) }

// state is the rows of an index at one time. A state never changes after its publication: the next
// state is a copy with a set live of its own. Later states append to codes, ids and rows, in memory
// that this state never reads.
type state[K ID, T dense.Float] struct {
	*fixedSettings
	codes  quantise.Codes[T] // may have more rows than ids, of later states
	ids    []K
	rows   []T      // d numbers for each id, if the state has rows
	live   []uint64 // bit i%64 of word i/64 is 1 if row i is not deleted
	n      int      // the number of live rows
	learnt bool     // the quantiser stays
}

func (s *state[K, T]) hasRows() bool { return s.keeps || !s.learnt }

func (s *state[K, T]) matrix() dense.Matrix[T] { return dense.Of(len(s.ids), s.d, s.rows) }

func (s *state[K, T]) isLive(at int) bool { return s.live[at/64]>>(at%64)&1 == 1 }

func (s *state[K, T]) places() []int {
	all := make([]int, 0, s.n)
	for i := range s.ids {
		if s.isLive(i) {
			all = append(all, i)
		}
	}
	return all
}

func (s *state[K, T]) ofIDs() map[K]int {
	all := make(map[K]int, s.n)
	for _, at := range s.places() {
		all[s.ids[at]] = at
	}
	return all
}

func (s *state[K, T]) next() *state[K, T] {
	c := *s
	c.live = slices.Clone(s.live)
	return &c
}

func (s *state[K, T]) add(ids []K, row func(i int) []T) {
	for i := range ids {
		at := len(s.ids) + i
		if at/64 == len(s.live) {
			s.live = append(s.live, 0)
		}
		s.live[at/64] |= 1 << (at % 64)
		if s.hasRows() {
			s.rows = append(s.rows, row(i)...)
		}
	}
	s.ids, s.n = append(s.ids, ids...), s.n+len(ids)
}

func (s *state[K, T]) remove(at int) {
	s.live[at/64] &^= 1 << (at % 64)
	s.n--
}

func (s *state[K, T]) only(places []int) *state[K, T] {
	ids := make([]K, len(places))
	for i, at := range places {
		ids[i] = s.ids[at]
	}
	to := &state[K, T]{fixedSettings: s.fixedSettings, learnt: s.learnt}
	to.add(ids, func(i int) []T { return s.rows[places[i]*s.d:][:s.d] })
	return to
}

// compacted returns the state without deleted rows, and with codes of these rows alone. All rows of
// s have codes.
func (s *state[K, T]) compacted() (*state[K, T], error) {
	codes, err := s.codes.Quantiser().Encode(context.Background(), dense.New[T](0, s.d))
	if err != nil {
		return nil, err
	}
	places := s.places()
	to := s.only(places)
	to.codes = codes
	return to, codes.AppendRows(s.codes, places)
}

// learned returns the state without deleted rows, with codes of a quantiser that is learnt from the
// rows and some more.
func (s *state[K, T]) learned(ctx context.Context, more dense.Matrix[T]) (*state[K, T], error) {
	to := s.only(s.places())
	before, sample := to.matrix(), more
	if more.Rows/learnRows < s.d { // otherwise a copy of many rows would take memory
		sample = dense.Of(before.Rows+more.Rows, s.d, slices.Concat(to.rows, more.Clone().Data))
	}
	q, err := quantise.Learn(ctx, sample, quantise.Options{Bits: s.bits}, s.source())
	// the rows have no two norms above 0
	for bits := 1.0; err != nil && ctx.Err() == nil && bits <= 8; bits *= 2 {
		if bits >= s.bits {
			q, err = quantise.New[T](s.d, quantise.Options{Bits: bits}, s.source())
		}
	}
	if err != nil {
		return nil, err
	}
	if to.learnt = true; !s.keeps {
		to.rows = nil
	}
	to.codes, err = q.Encode(ctx, before)
	return to, err
}
