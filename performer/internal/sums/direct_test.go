package sums

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
)

// shifted returns n normal points of R^d, with a shift added to the coordinates that count.
func shifted[T dense.Float](rng *rand.Rand, n, d int, shift float64, counts func(i, j int) bool) dense.Matrix[T] {
	x := densetest.Normal[T](rng, n, d, 0, 1)
	for i := range n {
		for j := range d {
			if counts(i, j) {
				x.Row(i)[j] += T(shift)
			}
		}
	}
	return x
}

func always(int, int) bool { return true }

func never(int, int) bool { return false }

// direct returns an engine that tries features elu+1.
func direct[T dense.Float](d int, causal bool) *Engine[T] {
	phi := must.Have(rff.Draw[T](rff.ELU{D: d}, nil))
	o := engineOf[T](phi, false).Operator
	o.Direct, o.Causal = mapped[T]{Map: phi}, causal
	return New(o)
}

// Features of elu+1 are good until a key is far out of the range that is used as it is.
func TestTokensTakenDirectly(t *testing.T) {
	densetest.Both(t, testTakenDirectly[float32], testTakenDirectly[float64])
}

func testTakenDirectly[T dense.Float](t *testing.T) {
	const n, d, dv = 700, 70, 70
	rng := rand.New(source(121))
	e := direct[T](d, true)
	v := densetest.Normal[T](rng, n, dv, 0, 1)
	from := func(first int) func(i, j int) bool { return func(i, _ int) bool { return i >= first } }
	of := func(shift float64, counts func(i, j int) bool) dense.Matrix[T] {
		return shifted[T](rng, n, d, shift, counts)
	}
	usual := of(0, never)
	for _, c := range []struct {
		what   string
		q, k   dense.Matrix[T]
		direct int // tokens
	}{
		{"usual", usual, usual, n},
		{"keys small", usual, of(-200, always), 0},
		{"keys large", usual, of(1e12, always), 0},
		{"keys small at the end", usual, of(-200, from(n-1)), n - 1},
		{"keys large from some token on", usual, of(1e6, from(131)), 131},
		{"keys grow", usual, of(40, from(256)), 256},
		{"one feature small", usual, of(-300, func(i, j int) bool { return i > 64 && j == 3 }), 65},
		{"queries small", of(-300, always), usual, n},
		{"queries large", of(1e13, from(9)), usual, n},
		{"both small", of(-100, always), of(-100, from(5)), 5},
	} {
		s := &causal[T]{e: e, dst: dense.New[T](n, dv), Gradients: Gradients[T]{Q: c.q, K: c.k, V: v}}
		assert.Equal(t, c.direct, s.directOutputs(), c.what)
	}
}

// Sums of features elu+1 are good unless a feature of all keys is far out of range, and then
// denominators are unless a query is.
func TestDirectSums(t *testing.T) {
	densetest.Both(t, testDirectSums[float32], testDirectSums[float64])
}

func testDirectSums[T dense.Float](t *testing.T) {
	const n, d = 600, 4
	rng := rand.New(source(120))
	e := direct[T](d, false)
	rows := func(rows ...int) func(i, j int) bool { return func(i, _ int) bool { return slices.Contains(rows, i) } }
	of := func(shift float64, counts func(i, j int) bool) dense.Matrix[T] {
		return shifted[T](rng, n, d, shift, counts)
	}
	v := densetest.Normal[T](rng, n, 3, 0, 1)
	for _, c := range []struct {
		what       string
		q, k       dense.Matrix[T]
		direct     bool // the sums of features are good
		amendments int  // rows that are not
	}{
		{"usual", of(0, never), of(0, never), true, 0},
		{"keys small", of(0, never), of(-200, always), false, 0},
		{"keys large", of(0, never), of(1e12, always), false, 0},
		{"one feature of keys small", of(0, never), of(-400, func(_, j int) bool { return j == 2 }), false, 0},
		{"queries small", of(-200, always), of(0, never), true, n},
		{"a few queries small or large", of(-100, rows(3, 77, 299, 599)), of(0, never), true, 4},
		{"a key small", of(0, never), of(-150, func(i, j int) bool { return i == 5 && j == 0 }), true, 0},
		{"both small", of(-60, always), of(-60, always), false, 0},
		{"queries large", of(1e13, rows(8, 9)), of(0, never), true, 2},
	} {
		s := e.segments(c.k, v)
		s.direct = true
		s.sum()
		require.Equal(t, c.direct, s.sums[0].allInRange(), c.what)
		amendments := 0
		if c.direct {
			sums, phi := s.sums[0].Sums(), dense.New[T](n, d)
			e.Direct.DirectQueries(phi, c.q)
			for i := range n {
				var total T
				for f, x := range phi.Row(i) {
					total += x * sums.Row(f)[3]
				}
				if !inRange(total) {
					amendments++
				}
			}
		}
		assert.Equal(t, c.amendments, amendments, c.what)
	}
}
