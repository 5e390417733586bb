package orf_test

import (
	"fmt"
	"math"
	"runtime"
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
		if d > orf.MaxHalton {
			continue
		}
		p := must.Have(orf.Draw[T](e, m, d, exprand.NewSource(1)))
		all[e.String()] = p.(orf.Transposer[T])
	}
	all["plain"] = orf.Transposed(plain[T]{all["IID"]})
	return all
}

func testTransposedIsTheProduct[T dense.Float](t *testing.T) {
	for _, s := range shapes {
		m, d := s[0], s[1]
		for name, p := range transposers[T](t, m, d) {
			w := p.Frequencies()
			order, ops := d, m
			for _, c := range constructions[T]() {
				if c.name == name {
					order, ops = c.order(d), c.ops(d)+m/c.order(d)+2
				}
			}
			if orf.Blocks[T](p) == nil {
				ops = m
			}
			longest := 3 * math.Sqrt(float64(order))
			for k := range m {
				longest = max(longest, norm(w.Row(k)))
			}
			for _, n := range []int{0, 1, 5, 70} {
				z := densetest.Gapped[T](2, n, m)
				before := z.Clone()
				wide := dense.New[T](n, d+2)
				got := p.ProjectTransposed(wide.ColRange(1, d+1), z)
				require.Equal(t, before, z.Clone(), "z is only read")
				require.Equal(t, [2]int{n, d}, [2]int{got.Rows, got.Cols})
				for i := range n {
					require.Equal(t, [2]T{0, 0}, [2]T{wide.At(i, 0), wide.At(i, d+1)}, "guard elements")
					var size float64
					for _, v := range z.Row(i) {
						size += math.Abs(float64(v)) * longest
					}
					for j := range d {
						var want float64
						for k := range m {
							want += float64(z.At(i, k)) * float64(w.At(k, j))
						}
						tol := 2 * float64(ops+2) * densetest.Roundoff[T]() * size
						if y := float64(got.At(i, j)); !(math.Abs(y-want) <= tol) {
							require.InDelta(t, want, y, tol, "%s %v n = %d (%d, %d)", name, s, n, i, j)
						}
					}
				}
				require.Equal(t, got.Clone(), p.ProjectTransposed(dense.Matrix[T]{}, z), "allocated")
			}
		}
	}
}

func TestTransposedIsTheProduct(t *testing.T) {
	densetest.Both(t, testTransposedIsTheProduct[float32], testTransposedIsTheProduct[float64])
}

// TestTransposedIsTheAdjoint compares ⟨XWᵀ, Z⟩ with ⟨X, ZW⟩, both without W.
func TestTransposedIsTheAdjoint(t *testing.T) {
	for _, s := range shapes {
		for name, p := range transposers[float64](t, s[0], s[1]) {
			x, z := densetest.Gapped[float64](3, 1, s[1]).Row(0), densetest.Gapped[float64](4, 1, s[0]).Row(0)
			there := p.Project(dense.Matrix[float64]{}, dense.Of(1, s[1], x)).Row(0)
			back := p.ProjectTransposed(dense.Matrix[float64]{}, dense.Of(1, s[0], z)).Row(0)
			assert.InDelta(t, dot(there, z), dot(x, back), 1e-13*(1+norm(there)*norm(z)), "%s %v", name, s)
		}
	}
}

func testTransposedRowsAlone[T dense.Float](t *testing.T) {
	const n, m, d = 300, 150, 60
	z := densetest.Gapped[T](2, n, m)
	for name, p := range transposers[T](t, m, d) {
		y := p.ProjectTransposed(dense.Matrix[T]{}, z)
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			require.Equal(t, y, p.ProjectTransposed(dense.Matrix[T]{}, z), "%s: one processor", name)
			runtime.GOMAXPROCS(3)
			require.Equal(t, y, p.ProjectTransposed(dense.Matrix[T]{}, z), "%s: three processors", name)
		}()
		for _, i := range []int{0, 63, 64, 299} {
			assert.Equal(t, y.Row(i), p.ProjectTransposed(dense.Matrix[T]{}, z.RowRange(i, i+1)).Row(0), "%s: row %d alone", name, i)
		}
	}
}

func TestTransposedRowsDoNotDependOnTheOthersNorOnProcessors(t *testing.T) {
	densetest.Both(t, testTransposedRowsAlone[float32], testTransposedRowsAlone[float64])
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

func testTransposedNotFinite[T dense.Float](t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {2, 7}, {20, 7}} {
		for name, p := range transposers[T](t, s[0], s[1]) {
			for k := range s[0] {
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					z := densetest.Gapped[T](3, 3, s[0])
					clean := p.ProjectTransposed(dense.Matrix[T]{}, z)
					z.Set(1, k, T(bad))
					y := p.ProjectTransposed(dense.Matrix[T]{}, z)
					for j, v := range y.Row(1) {
						require.False(t, math.Abs(float64(v)) <= math.MaxFloat64, "%s %v: %v at %d gave %v at %d", name, s, bad, k, v, j)
					}
					require.Equal(t, clean.Row(0), y.Row(0), "the row before")
					require.Equal(t, clean.Row(2), y.Row(2), "the row after")
				}
			}
		}
	}
}

func TestTransposedNotFinite(t *testing.T) {
	densetest.Both(t, testTransposedNotFinite[float32], testTransposedNotFinite[float64])
}

func testTransposedShapes[T dense.Float](t *testing.T) {
	for name, p := range transposers[T](t, 5, 3) {
		if name == "plain" {
			continue // feature maps call it, with the shapes that they have checked
		}
		assert.PanicsWithValue(t, "orf: z is 2×4, want n×5 for frequencies 5×3", func() { p.ProjectTransposed(dense.Matrix[T]{}, dense.New[T](2, 4)) }, name)
		assert.PanicsWithValue(t, "dense: destination is 2×4, want 2×3", func() { p.ProjectTransposed(dense.New[T](2, 4), dense.New[T](2, 5)) }, name)
		tiler := p.(projection.TransposedTiler[T])
		assert.PanicsWithValue(t, "orf: z is 2×4, want n×5 for frequencies 5×3", func() { tiler.ProjectTransposedTiles(dense.New[T](2, 3), dense.New[T](2, 4), nil) }, name)
		assert.PanicsWithValue(t, "orf: dst is 2×4, want 2×3", func() { tiler.ProjectTransposedTiles(dense.New[T](2, 4), dense.New[T](2, 5), nil) }, name)
	}
}

func TestTransposedShapesPanic(t *testing.T) {
	densetest.Both(t, testTransposedShapes[float32], testTransposedShapes[float64])
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

func TestTransposedKeepsATransposer(t *testing.T) {
	p := must.Have(orf.Draw[float64](orf.IID{}, 4, 3, exprand.NewSource(1)))
	assert.Same(t, p, orf.Transposed(p))
	q := orf.Transposed(plain[float64]{p})
	x := densetest.Gapped[float64](1, 2, 3)
	assert.Equal(t, p.Frequencies(), q.Frequencies())
	assert.Equal(t, p.Project(dense.Matrix[float64]{}, x), q.Project(dense.Matrix[float64]{}, x))
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

func benchmarkProjectTransposed[T dense.Float](b *testing.B) {
	for _, s := range [][3]int{{4096, 256, 64}, {256, 1024, 1024}} {
		n, m, d := s[0], s[1], s[2]
		all := transposers[T](b, m, d)
		for _, c := range constructions[T]() {
			b.Run(fmt.Sprintf("%s/n=%d/m=%d/d=%d", c.name, n, m, d), func(b *testing.B) {
				p := all[c.name]
				z, dst := dense.New[T](n, m), dense.New[T](n, d)
				dense.Copy(z, densetest.Gapped[T](1, n, m))
				b.ReportAllocs()
				for b.Loop() {
					p.ProjectTransposed(dst, z)
				}
				madds := float64(n) * float64(m) * float64(d)
				b.ReportMetric(1e-9*madds*float64(b.N)/b.Elapsed().Seconds(), "Gmadd/s-of-the-dense-product")
			})
		}
	}
}

// BenchmarkProjectTransposed takes n rows of m elements back to R^d.
func BenchmarkProjectTransposed(b *testing.B) {
	b.Run("type=float32", benchmarkProjectTransposed[float32])
	b.Run("type=float64", benchmarkProjectTransposed[float64])
}
