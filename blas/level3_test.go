package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	reference "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/blas/testblas"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
)

// tiny makes matrices of the smallest tests be cut into halves.
var tiny = orders{triangle: 1, square: 1}

// cut is Implementation with all calls on our product, and with small blocks on the diagonal.
type cut struct {
	Implementation
	orders orders
}

func (i cut) Dsyrk(ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if !syrk(i.orders, ul, tA, n, k, alpha, a, lda, beta, c, ldc) {
		i.Implementation.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
	}
}

func (i cut) Dtrsm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	own := reference.Implementation{}.Dtrsm
	if !(triangular[float64]{own: own, solve: true, order: i.orders.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		own(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

func (i cut) Dtrmm(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	own := reference.Implementation{}.Dtrmm
	if !(triangular[float64]{own: own, order: i.orders.triangle, side: s, uplo: ul, tA: tA, diag: d, alpha: alpha}).run(m, n, a, lda, b, ldb) {
		own(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// TestGonumsTests runs the tests of gonum's own level 3, also with matrices cut into single
// elements.
func TestGonumsTests(t *testing.T) {
	for _, o := range []orders{usual, tiny} {
		t.Run(fmt.Sprintf("order=%d", o.square), func(t *testing.T) {
			i := cut{orders: o}
			testblas.TestDgemm(t, i)
			testblas.DsyrkTest(t, i)
			testblas.DtrsmTest(t, i)
			testblas.DtrmmTest(t, i)
			testblas.Dsyr2kTest(t, i)
		})
	}
}

// level3 is the routines of one type.
type level3[T dense.Float] struct {
	syrk       func(ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	trsm, trmm triangleRoutine[T]
}

func singles(i gonum.Float32Level3) level3[float32] {
	return level3[float32]{i.Ssyrk, i.Strsm, i.Strmm}
}

func doubles(i gonum.Float64Level3) level3[float64] {
	return level3[float64]{i.Dsyrk, i.Dtrsm, i.Dtrmm}
}

// TestAgreesWithGonum compares both types with gonum's routines, for sizes around halves and
// slices, with gaps between rows, and alpha = 2. Terms are of size 1 at most, but for the diagonal
// of A, which is 2k: Σ|terms| is at most k, or 3k with the diagonal, and either side is off by
// (k+3)·eps·2·Σ|terms| at most. Solutions have elements of 2/k at most, and a condition number of
// 3.
func TestAgreesWithGonum(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) {
		testAgreesWithGonum(t, singles(Implementation{}), singles(reference.Implementation{}), 0x1p-24)
	})
	t.Run("type=float64", func(t *testing.T) {
		testAgreesWithGonum(t, doubles(Implementation{}), doubles(reference.Implementation{}), 0x1p-53)
	})
}

func testAgreesWithGonum[T dense.Float](t *testing.T, ours, theirs level3[T], eps float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	uniform := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(2*rng.Float64() - 1)
		}
		return x
	}
	compare := func(got, want []T, k int, text string) {
		for i, v := range want {
			require.InDelta(t, float64(v), float64(got[i]), 2*2*float64(k+3)*eps*float64(k), "%s, element %d", text, i)
		}
	}
	for _, size := range [][2]int{{40, 33}, {150, 60}, {70, 300}} {
		m, n := size[0], size[1]
		for _, ul := range []gonum.Uplo{gonum.Lower, gonum.Upper} {
			for _, trans := range []gonum.Transpose{gonum.NoTrans, gonum.Trans} {
				for _, beta := range []T{0, -0.5} {
					rows, cols := m, n
					if trans == gonum.Trans {
						rows, cols = n, m
					}
					a, want := uniform(rows*(cols+2)), uniform(m*(m+1))
					got := append([]T(nil), want...)
					ours.syrk(ul, trans, m, n, 2, a, cols+2, beta, got, m+1)
					theirs.syrk(ul, trans, m, n, 2, a, cols+2, beta, want, m+1)
					compare(got, want, n, fmt.Sprint("syrk ", size, ul, trans, beta))
				}
			}
			for _, side := range []gonum.Side{gonum.Left, gonum.Right} {
				k := order(side, m, n)
				a, b := uniform(k*(k+1)), uniform(m*(n+2))
				for i := range k {
					a[i*(k+1)+i] = T(2 * k)
				}
				for _, trans := range []gonum.Transpose{gonum.NoTrans, gonum.Trans} {
					for name, f := range map[string][2]triangleRoutine[T]{"trsm": {ours.trsm, theirs.trsm}, "trmm": {ours.trmm, theirs.trmm}} {
						got, want := append([]T(nil), b...), append([]T(nil), b...)
						f[0](side, ul, trans, gonum.NonUnit, m, n, 2, a, k+1, got, n+2)
						f[1](side, ul, trans, gonum.NonUnit, m, n, 2, a, k+1, want, n+2)
						compare(got, want, 2*k, fmt.Sprint(name, size, side, ul, trans))
					}
				}
			}
		}
	}
}

// TestTriangleAlone puts NaN where a routine must not look, and checks that it does not write
// there.
func TestTriangleAlone(t *testing.T) {
	const n, k = 150, 130
	nan := math.NaN()
	a, b := make([]float64, n*n), make([]float64, n*k)
	for i := range n {
		for j := range n {
			if a[i*n+j] = 1 / float64(n+i); j >= i {
				a[i*n+j] = nan
			}
		}
	}
	for i := range b {
		b[i] = float64(i % 7)
	}
	finite := func(x []float64) {
		for i, v := range x {
			require.False(t, math.IsNaN(v), "element %d", i)
		}
	}
	Implementation{}.Dtrsm(gonum.Left, gonum.Lower, gonum.NoTrans, gonum.Unit, n, k, 1, a, n, b, k)
	finite(b)
	Implementation{}.Dtrmm(gonum.Left, gonum.Lower, gonum.Trans, gonum.Unit, n, k, 1, a, n, b, k)
	finite(b)
	for i := range n {
		a[i*n+i] = 1
	}
	Implementation{}.Dsyrk(gonum.Lower, gonum.NoTrans, n, k, 1, b, k, 0, a, n)
	for i := range n {
		for j := range n {
			require.Equal(t, j > i, math.IsNaN(a[i*n+j]), "(%d, %d)", i, j)
		}
	}
}

// TestSyrkDoesNotReadC puts NaN into C, which beta = 0 does not read, for products of all sizes,
// also of none.
func TestSyrkDoesNotReadC(t *testing.T) {
	nan := math.NaN()
	for _, n := range []int{1, 3, 20, 150} {
		for _, k := range []int{0, 1, 5, 60} {
			for _, ul := range []gonum.Uplo{gonum.Lower, gonum.Upper} {
				for _, trans := range []gonum.Transpose{gonum.NoTrans, gonum.Trans, gonum.ConjTrans} {
					for _, alpha := range []float64{0, 2} {
						stride := max(n, k)
						a, c := make([]float64, stride*stride), make([]float64, n*n)
						single, product := make([]float32, stride*stride), make([]float32, n*n)
						for i := range a {
							a[i], single[i] = 1, 1
						}
						for i := range c {
							c[i], product[i] = nan, float32(nan)
						}
						Implementation{}.Dsyrk(ul, trans, n, k, alpha, a, stride, 0, c, n)
						Implementation{}.Ssyrk(ul, trans, n, k, float32(alpha), single, stride, 0, product, n)
						for i := range n {
							for j := range n {
								if (ul == gonum.Lower) != (j <= i) && i != j {
									require.True(t, math.IsNaN(c[i*n+j]), "the other triangle")
									continue
								}
								require.Equal(t, alpha*float64(k), c[i*n+j], "n=%d k=%d %c %c (%d, %d)", n, k, ul, trans, i, j)
								require.Equal(t, float32(alpha)*float32(k), product[i*n+j], "n=%d k=%d %c %c (%d, %d)", n, k, ul, trans, i, j)
							}
						}
					}
				}
			}
		}
	}
}

// use makes i the implementation of the whole program until the end of the benchmark.
func use(b *testing.B, i gonum.Float64) {
	blas64.Use(i)
	b.Cleanup(func() { blas64.Use(reference.Implementation{}) })
}

// implementations are ours and gonum's.
var implementations = []struct {
	name string
	gonum.Float64
}{{"randfeat", Implementation{}}, {"gonum", reference.Implementation{}}}

// BenchmarkLAPACK times decompositions of package mat on either implementation.
func BenchmarkLAPACK(b *testing.B) {
	for _, op := range []struct {
		name string
		n    int
		run  func(a *mat.Dense) bool
	}{
		{"Cholesky", 4096, func(a *mat.Dense) bool {
			n, _ := a.Dims()
			var c mat.Cholesky
			return c.Factorize(mat.NewSymDense(n, a.RawMatrix().Data))
		}},
		{"SVD", 1000, func(a *mat.Dense) bool { return new(mat.SVD).Factorize(a, mat.SVDThin) }},
		{"Eigen", 1000, func(a *mat.Dense) bool { return new(mat.Eigen).Factorize(a, mat.EigenRight) }},
		{"EigenSym", 1000, func(a *mat.Dense) bool {
			n, _ := a.Dims()
			return new(mat.EigenSym).Factorize(mat.NewSymDense(n, a.RawMatrix().Data), true)
		}},
		{"QR", 1000, func(a *mat.Dense) bool { new(mat.QR).Factorize(a); return true }},
	} {
		for _, by := range implementations {
			b.Run(fmt.Sprintf("op=%s/n=%d/by=%s", op.name, op.n, by.name), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				a := mat.NewDense(op.n, op.n, nil)
				for i := range op.n {
					for j := range i + 1 {
						v := 2*rng.Float64() - 1
						a.Set(i, j, v)
						a.Set(j, i, v)
					}
					a.Set(i, i, float64(op.n))
				}
				use(b, by.Float64)
				for b.Loop() {
					require.True(b, op.run(a))
				}
			})
		}
	}
}
