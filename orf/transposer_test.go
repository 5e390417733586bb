package orf_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/projection"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/orf"
)

// plain is a projection of a user, which knows nothing of transposing.
type plain[T dense.Float] struct{ orf.Projection[T] }

// transposers are the constructions, and one behind a plain Projection.
func transposers[T dense.Float](t testing.TB, m, d int) map[string]orf.Transposer[T] {
	all := map[string]orf.Transposer[T]{}
	for _, c := range constructions[T]() {
		p := must.Have(c.draw(m, d, exprand.NewSource(1)))
		all[c.name] = p.(orf.Transposer[T])
	}
	for _, e := range pointSets {
		if d > 1000 { // more than Halton takes
			continue
		}
		p := must.Have(orf.Draw[T](e, m, d, exprand.NewSource(1)))
		all[e.String()] = p.(orf.Transposer[T])
	}
	all["plain"] = orf.Transposed(plain[T]{all["IID"]})
	return all
}

// ledger counts how often each element is handed over, and adds 1 to it.
type ledger[T dense.Float] struct {
	mu    sync.Mutex
	dst   dense.Matrix[T]
	count dense.Matrix[float64]
}

func newLedger[T dense.Float](rows, cols int) *ledger[T] {
	return &ledger[T]{dst: dense.New[T](rows, cols), count: dense.New[float64](rows, cols)}
}

// check requires that each element was handed over once, after it had its value.
func (l *ledger[T]) check(t *testing.T, want dense.Matrix[T], format string, args ...any) {
	t.Helper()
	require.Equal(t, want, l.dst, append([]any{format}, args...)...)
	for _, c := range l.count.Data {
		require.Equal(t, 1.0, c, append([]any{format}, args...)...)
	}
}

func (l *ledger[T]) Finish(lo, hi, from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := lo; i < hi; i++ {
		for j := from; j < to; j++ {
			l.dst.Set(i, j, l.dst.At(i, j)+1)
			l.count.Set(i, j, l.count.At(i, j)+1)
		}
	}
}

func testTiles[T dense.Float](t *testing.T) {
	none := dense.Matrix[T]{}
	for _, s := range [][3]int{{0, 5, 3}, {1, 7, 7}, {150, 70, 33}, {20, 1100, 30}, {20, 30, 1100}} {
		n, m, d := s[0], s[1], s[2]
		x, z := densetest.Gapped[T](2, n, d), densetest.Gapped[T](2, n, m)
		check := func(name string, want dense.Matrix[T], write func(dst dense.Matrix[T], done matmul.Epilogue)) {
			for i := range want.Data {
				want.Data[i]++
			}
			l := newLedger[T](n, want.Cols)
			write(l.dst, l)
			l.check(t, want, "%s %v", name, s)
		}
		for name, p := range transposers[T](t, m, d) {
			check(name, p.ProjectTransposed(none, z), func(dst dense.Matrix[T], done matmul.Epilogue) {
				p.(projection.TransposedTiler[T]).ProjectTransposedTiles(dst, z, done)
			})
			if name == "plain" {
				continue // it has no other tiles
			}
			check(name, p.Project(none, x), func(dst dense.Matrix[T], done matmul.Epilogue) {
				p.(projection.Tiler[T]).ProjectTiles(dst, x, done)
			})
		}
	}
}

func TestTilesAreHandedOverOnce(t *testing.T) {
	densetest.Both(t, testTiles[float32], testTiles[float64])
}

func testProjectingDoesNotAllocate[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("with the race detector a sync.Pool forgets at random")
	}
	x, z := densetest.Gapped[T](1, 200, 20), densetest.Gapped[T](2, 200, 70)
	there, back := dense.New[T](200, 70), dense.New[T](200, 20)
	for name, p := range transposers[T](t, 70, 20) {
		p.ProjectTransposed(back, z)
		assert.Zero(t, testing.AllocsPerRun(20, func() { p.Project(there, x) }), name)
		assert.Zero(t, testing.AllocsPerRun(20, func() { p.ProjectTransposed(back, z) }), "%s transposed", name)
	}
}

func TestProjectingDoesNotAllocate(t *testing.T) {
	densetest.Both(t, testProjectingDoesNotAllocate[float32], testProjectingDoesNotAllocate[float64])
}

// TestFirstTransposesAtOnce shares projections that have not been transposed.
func TestFirstTransposesAtOnce(t *testing.T) {
	z := densetest.Gapped[float64](1, 3, 40)
	for name, p := range transposers[float64](t, 40, 7) {
		want := transposers[float64](t, 40, 7)[name].ProjectTransposed(dense.Matrix[float64]{}, z)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { assert.Equal(t, want, p.ProjectTransposed(dense.Matrix[float64]{}, z), name) })
		}
		wait.Wait()
	}
}
