package rankone

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

const guard = -12345

// guarded returns an n×cols matrix of normal numbers in the middle of guard words, which also stand
// between its rows, and a check of these.
func guarded[T dense.Float](r *rand.Rand, n, cols, gap int, sd float64) (m dense.Matrix[T], check func(t *testing.T)) {
	const words = 32
	stride := cols + gap
	all := make([]T, n*stride+2*words)
	for i := range all {
		all[i] = guard
	}
	m = dense.Matrix[T]{Rows: n, Cols: cols, Data: all[words : words+max(0, (n-1)*stride+cols)], Stride: stride}
	for i := range n {
		for j := range cols {
			m.Data[i*stride+j] = T(sd * r.NormFloat64())
		}
	}
	return m, func(t *testing.T) {
		t.Helper()
		for i, v := range all {
			if at := i - words; at < 0 || at >= n*stride || at%stride >= cols {
				require.Equal(t, T(guard), v, "a word %d from the beginning of %d×%d was written", at, n, cols)
			}
		}
	}
}

// example is a pass and what surrounds it.
type example[T dense.Float] struct {
	Pass[T]
	checks []func(t *testing.T)
}

func newExample[T dense.Float](r *rand.Rand, rows, width, n, heads int, corrects bool, decays int) *example[T] {
	x := &example[T]{Pass: Pass[T]{Rows: rows, Width: width, Heads: heads}}
	matrix := func(n, cols, gap int, sd float64) dense.Matrix[T] {
		m, check := guarded[T](r, n, cols, gap, sd)
		x.checks = append(x.checks, check)
		return m
	}
	unit := 1 / math.Sqrt(float64(max(rows, 1)))
	x.S, x.Older = matrix(rows, width, 0, 1).Data, matrix(rows, width, 0, 1).Data
	x.K, x.V = matrix(n, rows, r.IntN(3), unit), matrix(n, width, r.IntN(3), 1)
	x.Q, x.Out = matrix(n, heads*rows, r.IntN(3), unit), matrix(n, heads*width, r.IntN(3), 1)
	x.QueryHead, x.OutHead = rows, width
	x.Beta, x.Fade, x.Scale = matrix(1, n, 0, 0.5).Data, matrix(1, n, 0, 0.5).Data, matrix(1, n, 0, 0.5).Data
	if corrects {
		x.Corrected = matrix(n, rows, r.IntN(3), unit)
	}
	if decays > 0 {
		x.Decays = matrix(n, decays, r.IntN(3), 0.5)
	}
	return x
}

// clone returns a copy of x whose S and Out are its own.
func (x *example[T]) clone() Pass[T] {
	p := x.Pass
	p.S = append([]T(nil), x.S...)
	p.Out = dense.Matrix[T]{Rows: x.Out.Rows, Cols: x.Out.Cols, Stride: x.Out.Stride, Data: append([]T(nil), x.Out.Data...)}
	return p
}

// eachRule calls f for tokens of all kinds with so many rows.
func eachRule(rows int, f func(corrects bool, decays int)) {
	for _, corrects := range []bool{false, true} {
		for _, decays := range []int{0, 1, rows} {
			if decays == rows && rows <= 1 {
				continue
			}
			f(corrects, decays)
		}
	}
}

// Every tier agrees with the reference in float64, for panels of all widths and all kinds of
// tokens, and writes nothing else.
//
// The tolerance: a token rounds an element of S up to four times, and sums r products for each of
// its reads, each relative to the sum of the moduli. Here moduli stay below 8 r^½, so n tokens
// differ by less than 8·n·(r+4)·r^½·ε.
func TestTake(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testTake[float32](t, 0x1p-23) })
	t.Run("type=float64", func(t *testing.T) { testTake[float64](t, 0x1p-52) })
}

func testTake[T dense.Float](t *testing.T, epsilon float64) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		lanes, vectors := shape[T]()
		for width := lanes; width <= lanes*vectors; width *= 2 {
			for _, rows := range []int{0, 1, 2, 3, 4, 7, 16, 33, 2*blockRows + 3} {
				for _, n := range []int{0, 1, 4, 11} {
					for heads := 1; heads <= 3; heads += 1 + rows%2 {
						eachRule(rows, func(corrects bool, decays int) {
							x := newExample[T](r, rows, width, n, heads, corrects, decays)
							want := x.clone()
							if n > 0 {
								reference(&want)
							}
							x.Take()
							what := fmt.Sprintf("%d tokens, %d×%d, %d heads, corrects=%v, %d decays", n, rows, width, heads, corrects, decays)
							tolerance := 8 * float64(n*(rows+4)) * math.Sqrt(float64(rows+1)) * epsilon
							requireClose(t, want.S, x.S, tolerance, what+": S")
							requireClose(t, want.Out.Data, x.Out.Data, tolerance, what+": outputs")
							for _, check := range x.checks {
								check(t)
							}
						})
					}
				}
			}
		}
	})
}

func requireClose[T dense.Float](t *testing.T, want, got []T, tolerance float64, what string) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(want[i])-float64(got[i])) <= tolerance) {
			require.Fail(t, "too far", "%s: element %d is %v, want %v ± %.2g", what, i, got[i], want[i], tolerance)
		}
	}
}

// An element depends on its column alone: narrow panels have the bits of wide ones, and NaN stays
// in its column. Cutting the tokens in two, after four, changes no bit, and nor does leaving the
// last out.
func TestColumnsAreIndependent(t *testing.T) {
	t.Run("type=float32", testColumnsAreIndependent[float32])
	t.Run("type=float64", testColumnsAreIndependent[float64])
}

func testColumnsAreIndependent[T dense.Float](t *testing.T) {
	everyTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		lanes, vectors := shape[T]()
		const rows, n = 13, 10
		widest := lanes * vectors
		eachRule(rows, func(corrects bool, decays int) {
			x := newExample[T](r, rows, widest, n, 1, corrects, decays)
			bad := r.IntN(widest)
			x.V.Set(2, bad, T(math.NaN()))
			start := append([]T(nil), x.S...)
			x.Take()
			for j := range widest {
				require.Equal(t, j == bad, x.Out.At(n-1, j) != x.Out.At(n-1, j), "column %d, NaN in %d", j, bad)
			}
			for fewer := 1; fewer < n; fewer++ {
				p := x.tokens(0, fewer)
				p.S, p.Out = append([]T(nil), start...), dense.New[T](fewer, widest)
				p.Take()
				for i := range fewer {
					for j := range widest {
						require.True(t, same(x.Out.At(i, j), p.Out.At(i, j)), "%d tokens, token %d, column %d", fewer, i, j)
					}
				}
			}
			for width := lanes; width < widest; width *= 2 {
				for from := 0; from < widest; from += width {
					p := x.Pass
					p.Width, p.V, p.Out = width, x.V.ColRange(from, from+width), dense.New[T](n, width)
					p.S, p.Older = make([]T, rows*width), make([]T, rows*width)
					for i := range rows {
						copy(p.S[i*width:][:width], start[i*widest+from:])
						copy(p.Older[i*width:][:width], x.Older[i*widest+from:])
					}
					first, last := p.tokens(0, 4), p.tokens(4, n)
					first.Take()
					last.Take()
					for i := range n {
						for j := range width {
							require.True(t, same(x.Out.At(i, from+j), p.Out.At(i, j)), "width %d, token %d, column %d", width, i, from+j)
						}
					}
					for i := range rows {
						for j := range width {
							require.True(t, same(x.S[i*widest+from+j], p.S[i*width+j]), "width %d, row %d, column %d", width, i, from+j)
						}
					}
				}
			}
		})
	})
}

// tokens returns the pass of the tokens lo ≤ t < hi.
func (p Pass[T]) tokens(lo, hi int) Pass[T] {
	for _, m := range []*dense.Matrix[T]{&p.K, &p.V, &p.Q, &p.Out, &p.Corrected, &p.Decays} {
		if m.Rows > 0 {
			*m = m.RowRange(lo, hi)
		}
	}
	p.Beta, p.Fade, p.Scale = p.Beta[lo:hi], p.Fade[lo:hi], p.Scale[lo:hi]
	return p
}

func same[T dense.Float](a, b T) bool { return a == b || a != a && b != b }

// Panels are as wide as what is left needs, and narrow if a token needs many rows at once.
func TestColumns(t *testing.T) {
	everyTier(t, func(t *testing.T) {
		lanes, vectors := shape[float32]()
		for _, corrects := range []bool{false, true} {
			assert.Equal(t, lanes*vectors, Columns[float32](1, 1000, corrects))
			assert.Equal(t, lanes, Columns[float32](1, 1, corrects))
			assert.Equal(t, lanes, Columns[float32](1, lanes, corrects))
			assert.Equal(t, 2*lanes, Columns[float32](1, lanes+1, corrects))
		}
		assert.Equal(t, lanes, Columns[float32](1<<20, 1000, true))
		assert.Equal(t, lanes*vectors, Columns[float32](1<<20, 1000, false))
	})
}

func TestTakePanics(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, spoil := range map[string]func(p *Pass[float32]){
		"sums":      func(p *Pass[float32]) { p.S = p.S[:len(p.S)-1] },
		"keys":      func(p *Pass[float32]) { p.K.Data = p.K.Data[:len(p.K.Data)-1] },
		"values":    func(p *Pass[float32]) { p.V.Data = p.V.Data[:len(p.V.Data)-1] },
		"queries":   func(p *Pass[float32]) { p.Q.Data = p.Q.Data[:len(p.Q.Data)-1] },
		"outputs":   func(p *Pass[float32]) { p.OutHead++ },
		"heads":     func(p *Pass[float32]) { p.Heads = 0 },
		"beta":      func(p *Pass[float32]) { p.Beta = p.Beta[:1] },
		"scale":     func(p *Pass[float32]) { p.Scale = p.Scale[:3] },
		"fade":      func(p *Pass[float32]) { p.Fade = p.Fade[:1] },
		"corrected": func(p *Pass[float32]) { p.Corrected.Data = p.Corrected.Data[:3] },
		"decays":    func(p *Pass[float32]) { p.Decays.Cols = 2 },
	} {
		x := newExample[float32](r, 3, Columns[float32](3, 1, true), 4, 2, true, 3)
		spoil(&x.Pass)
		assert.Panics(t, x.Take, name)
	}
	x := newExample[float32](r, 3, Columns[float32](3, 1, true), 4, 2, false, 0)
	x.Older = nil
	assert.Panics(t, x.Take, "older sums")
}
