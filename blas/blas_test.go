package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"

	"github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
)

// gemm is Sgemm or Dgemm.
type gemm[T dense.Float] func(tA, tB gonum.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)

// routines are the routine under test and gonum's.
type routines[T dense.Float] struct{ ours, theirs gemm[T] }

var (
	single = routines[float32]{blas.Implementation{}.Sgemm, reference.Implementation{}.Sgemm}
	double = routines[float64]{blas.Implementation{}.Dgemm, reference.Implementation{}.Dgemm}
)

var transposes = []gonum.Transpose{gonum.NoTrans, gonum.Trans, gonum.ConjTrans}

func normal[T dense.Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

// operand returns an r×c matrix for op(X) and its stride, which leaves a gap.
func operand[T dense.Float](rng *rand.Rand, t gonum.Transpose, r, c int) ([]T, int) {
	if t != gonum.NoTrans {
		r, c = c, r
	}
	stride := c + 2
	if r == 0 {
		return nil, stride
	}
	return normal[T](rng, (r-1)*stride+c), stride
}

// testProducts compares with a sum in float64. The error is at most (k+3)·eps·Σ|terms|.
func testProducts[T dense.Float](t *testing.T, r routines[T], eps float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][3]int{{1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {2, 5, 0}, {7, 3, 5}, {33, 40, 17}, {130, 65, 70}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, tA := range transposes {
			for _, tB := range transposes {
				for _, factors := range [][2]T{{1, 0}, {0.75, 1}, {-2, -0.5}, {0, 0.5}} {
					alpha, beta := factors[0], factors[1]
					a, lda := operand[T](rng, tA, m, k)
					b, ldb := operand[T](rng, tB, k, n)
					c, ldc := operand[T](rng, gonum.NoTrans, m, n)
					before := append([]T(nil), c...)
					r.ours(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
					element := func(x []T, stride int, t gonum.Transpose, i, j int) float64 {
						if t != gonum.NoTrans {
							i, j = j, i
						}
						return float64(x[i*stride+j])
					}
					for at, got := range c {
						i, j := at/ldc, at%ldc
						if j >= n {
							require.Equal(t, before[at], got, "gap of row %d", i)
							continue
						}
						want := float64(beta) * float64(before[at])
						size := math.Abs(want)
						for l := range k {
							term := float64(alpha) * element(a, lda, tA, i, l) * element(b, ldb, tB, l, j)
							want += term
							size += math.Abs(term)
						}
						require.InDelta(t, want, float64(got), float64(k+3)*eps*size,
							"%v, A %c, B %c, alpha %v, beta %v, element (%d, %d)", shape, tA, tB, alpha, beta, i, j)
					}
				}
			}
		}
	}
}

func TestProducts(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testProducts(t, single, 0x1p-24) })
	t.Run("type=float64", func(t *testing.T) { testProducts(t, double, 0x1p-53) })
}

// message returns what f panics with.
func message(f func()) (text any) {
	defer func() { text = recover() }()
	f()
	return nil
}

func testPanics[T dense.Float](t *testing.T, r routines[T]) {
	type call struct {
		tA, tB        gonum.Transpose
		m, n, k       int
		a, b, c       int // lengths
		lda, ldb, ldc int
	}
	good := call{gonum.NoTrans, gonum.NoTrans, 2, 3, 4, 8, 12, 6, 4, 3, 3}
	run := func(f gemm[T], c call) any {
		return message(func() {
			f(c.tA, c.tB, c.m, c.n, c.k, 1, make([]T, c.a), c.lda, make([]T, c.b), c.ldb, 0, make([]T, c.c), c.ldc)
		})
	}
	require.Nil(t, run(r.ours, good))
	for name, spoil := range map[string]func(*call){
		"tA": func(c *call) { c.tA = 'X' }, "tB": func(c *call) { c.tB = 0 },
		"m": func(c *call) { c.m = -1 }, "n": func(c *call) { c.n = -1 }, "k": func(c *call) { c.k = -1 },
		"lda": func(c *call) { c.lda-- }, "ldb": func(c *call) { c.ldb-- }, "ldc": func(c *call) { c.ldc-- },
		"lda 0": func(c *call) { c.lda = 0 }, "ldc negative": func(c *call) { c.ldc = -3 },
		"lda, Trans": func(c *call) { c.tA, c.lda = gonum.Trans, 1 }, "ldb, Trans": func(c *call) { c.tB = gonum.Trans },
		"a": func(c *call) { c.a-- }, "b": func(c *call) { c.b-- }, "c": func(c *call) { c.c-- },
		"a, none": func(c *call) { c.a = 0 }, "c, none": func(c *call) { c.c = 0 },
	} {
		c := good
		spoil(&c)
		want := run(r.theirs, c)
		require.NotNil(t, want, name)
		assert.Equal(t, want, run(r.ours, c), name)
	}
}

func TestPanicsAreGonums(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testPanics(t, single) })
	t.Run("type=float64", func(t *testing.T) { testPanics(t, double) })
}

func testNotFinite[T dense.Float](t *testing.T, r routines[T]) {
	nan, inf := T(math.NaN()), T(math.Inf(1))
	product := func(alpha, a, b, beta, c T) T {
		out := []T{c}
		r.ours(gonum.NoTrans, gonum.NoTrans, 1, 1, 1, alpha, []T{a}, 1, []T{b}, 1, beta, out, 1)
		return out[0]
	}
	assert.True(t, math.IsNaN(float64(product(1, 0, inf, 0, 1))), "0·Inf")
	assert.True(t, math.IsNaN(float64(product(1, nan, 2, 0, 1))), "NaN in A")
	assert.Equal(t, T(6), product(1, 2, 3, 0, nan), "beta = 0 does not read C")
}

func TestNotFinite(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testNotFinite(t, single) })
	t.Run("type=float64", func(t *testing.T) { testNotFinite(t, double) })
}

func BenchmarkGemm(b *testing.B) {
	b.Run("type=f32", func(b *testing.B) { benchmark(b, single) })
	b.Run("type=f64", func(b *testing.B) { benchmark(b, double) })
}

func benchmark[T dense.Float](b *testing.B, r routines[T]) {
	for _, n := range []int{128, 512, 2048} {
		for _, by := range []struct {
			name string
			gemm gemm[T]
		}{{"randfeat", r.ours}, {"gonum", r.theirs}} {
			b.Run(fmt.Sprintf("n=%d/by=%s", n, by.name), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				x, y, z := normal[T](rng, n*n), normal[T](rng, n*n), make([]T, n*n)
				b.ReportAllocs()
				for b.Loop() {
					by.gemm(gonum.NoTrans, gonum.NoTrans, n, n, n, 1, x, n, y, n, 0, z, n)
				}
				b.ReportMetric(2*float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// gemv is Sgemv or Dgemv.
type gemv[T dense.Float] func(tA gonum.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)

// TestGemv compares with gonum's routine. Both differ from the sum by at most
// (terms+3)·eps·Σ|terms|.
func TestGemv(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) {
		testGemv(t, blas.Implementation{}.Sgemv, reference.Implementation{}.Sgemv, 0x1p-24)
	})
	t.Run("type=float64", func(t *testing.T) {
		testGemv(t, blas.Implementation{}.Dgemv, reference.Implementation{}.Dgemv, 0x1p-53)
	})
}

func testGemv[T dense.Float](t *testing.T, ours, theirs gemv[T], eps float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range [][2]int{{1, 1}, {0, 3}, {3, 0}, {7, 5}, {130, 140}, {300, 65}, {20, 1000}, {1030, 1040}} {
		m, n := shape[0], shape[1]
		for _, tA := range transposes {
			inputs, outputs := n, m
			if tA != gonum.NoTrans {
				inputs, outputs = m, n
			}
			for _, inc := range [][2]int{{1, 1}, {2, 1}, {1, -3}} {
				for _, factors := range [][2]T{{1, 0}, {0.75, 1}, {-2, -0.5}, {0, 0.5}} {
					a, lda := operand[T](rng, gonum.NoTrans, m, n)
					x, y := normal[T](rng, 2*inputs+1), normal[T](rng, 3*outputs+1)
					before, want := append([]T(nil), y...), append([]T(nil), y...)
					sizes := make([]T, len(y))
					for i, v := range y {
						sizes[i] = T(math.Abs(float64(v)))
					}
					theirs(tA, m, n, T(math.Abs(float64(factors[0]))), absolute(a), lda, absolute(x), inc[0], T(math.Abs(float64(factors[1]))), sizes, inc[1])
					theirs(tA, m, n, factors[0], a, lda, x, inc[0], factors[1], want, inc[1])
					ours(tA, m, n, factors[0], a, lda, x, inc[0], factors[1], y, inc[1])
					for at := range outputs {
						i := at * max(inc[1], -inc[1])
						require.InDelta(t, float64(want[i]), float64(y[i]), 2*float64(inputs+3)*eps*float64(sizes[i]), "%v, A %c, inc %v, factors %v, element %d", shape, tA, inc, factors, i)
					}
					// gonum's routine may clear element n
					if m*n >= 1<<20 && factors[0] != 0 && inc == [2]int{1, 1} {
						require.Equal(t, before[outputs:], y[outputs:])
					}
				}
			}
		}
	}
	const m, n = 1050, 1024
	a, x, y := normal[T](rng, m*n), normal[T](rng, m), normal[T](rng, m)
	for name, call := range map[string]func(f gemv[T]){
		"tA":    func(f gemv[T]) { f('X', m, n, 1, a, n, x, 1, 0, y, 1) },
		"m":     func(f gemv[T]) { f(gonum.NoTrans, -1, n, 1, a, n, x, 1, 0, y, 1) },
		"lda":   func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a, n-1, x, 1, 0, y, 1) },
		"a":     func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a[:m*n-1], n, x, 1, 0, y, 1) },
		"x":     func(f gemv[T]) { f(gonum.Trans, m, n, 1, a, n, x[:m-1], 1, 0, y, 1) },
		"y":     func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a, n, x, 1, 0, y[:m-1], 1) },
		"inc 0": func(f gemv[T]) { f(gonum.NoTrans, m, n, 1, a, n, x, 0, 0, y, 1) },
	} {
		want := message(func() { call(theirs) })
		require.NotNil(t, want, name)
		assert.Equal(t, want, message(func() { call(ours) }), name)
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { ours(gonum.NoTrans, m, n, 1, a, n, x, 1, 0, y, 1) }))
}

// absolute returns the sizes of the elements of x.
func absolute[T dense.Float](x []T) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(math.Abs(float64(v)))
	}
	return y
}
