package rff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// queryKeyMoments holds the moments of queries x and keys y times √scale, for the FAVOR# maps.
type queryKeyMoments struct {
	d                  int
	queries, keys      *mat.SymDense // E[xxᵀ], E[yyᵀ]
	meanQuery, meanKey []float64

	queryCount, keyCount int
}

func newFit[T dense.Float](x, y dense.Matrix[T], scale float64) (*queryKeyMoments, error) {
	if err := checkSamples(x, y, scale); err != nil {
		return nil, err
	}
	d := x.Cols
	if err := limit.Memory[float64](d, d); err != nil {
		return nil, fmt.Errorf("rff: the second moments of points of R^%d: %w", d, err)
	}
	f := &queryKeyMoments{d: d, queryCount: x.Rows, keyCount: y.Rows}
	var err error
	if f.queries, f.meanQuery, err = secondMoments("x", x, scale); err != nil {
		return nil, err
	}
	f.keys, f.meanKey, err = secondMoments("y", y, scale)
	return f, err
}

// secondMoments returns E[xxᵀ] and E[x] of the rows of x times √scale. Errors call x name.
func secondMoments[T dense.Float](name string, x dense.Matrix[T], scale float64) (*mat.SymDense, []float64, error) {
	const block = 1024
	m, mean := mat.NewSymDense(x.Cols, nil), make([]float64, x.Cols)
	n, r := float64(x.Rows), math.Sqrt(scale)
	for lo := 0; lo < x.Rows; lo += block {
		rows := x.RowRange(lo, min(lo+block, x.Rows))
		m.SymRankK(m, scale/n, gonum.ToMat(rows).T())
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				mean[j] += r * float64(v) / n
			}
		}
	}
	for j := range mean {
		// The largest moments are on the diagonal.
		if v := m.At(j, j); math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf("rff: the mean of scale·%s_%d² is %v, want a finite number", name, j, v)
		}
	}
	return m, mean, nil
}

// sum returns E[(x+y)(x+y)ᵀ] for x and y that are drawn independently.
func (f *queryKeyMoments) sum() *mat.SymDense {
	m := mat.NewSymDense(f.d, nil)
	m.AddSym(f.queries, f.keys)
	for i := range f.d {
		for j := i; j < f.d; j++ {
			m.SetSym(i, j, m.At(i, j)+f.meanQuery[i]*f.meanKey[j]+f.meanQuery[j]*f.meanKey[i])
		}
	}
	return m
}

// squares is E‖Px‖² + E‖P^(−ᵀ)y‖², to which damping adds 2·E[x]ᵀE[y].
func (f *queryKeyMoments) damping(squares float64) float64 {
	for j, v := range f.meanQuery {
		squares += 2 * v * f.meanKey[j]
	}
	return leastMoment(max(squares, 0) / float64(f.d))
}

// balance returns the ψ of SADERF and the argument of damping.
func (f *queryKeyMoments) balance() (psi []float64, squares float64) {
	psi = make([]float64, f.d)
	for j := range psi {
		x, y := f.queries.At(j, j), f.keys.At(j, j)
		psi[j] = 1
		if x > 0 && y > 0 {
			psi[j] = math.Sqrt(math.Sqrt(y) / math.Sqrt(x))
		}
		squares += x*psi[j]*psi[j] + y/psi[j]/psi[j]
	}
	return psi, squares
}

// axes returns the damping of SDERF and the orthogonal matrix of its axes.
func (f *queryKeyMoments) axes() (damping []float64, q *mat.Dense, err error) {
	var moments mat.EigenSym
	if !moments.Factorize(f.sum(), true) {
		return nil, nil, errNotConverged
	}
	q = new(mat.Dense)
	moments.VectorsTo(q)
	damping = moments.Values(nil)
	for l, v := range damping {
		damping[l] = leastMoment(max(v, 0))
	}
	return damping, q, nil
}

// shrinkage returns the weight of I in the second moments of ADERF, soon negligible for n > d. The
// minimum bounds the condition number of Ψ in the 2-norm: √(d/2⁻²⁰) = 1024·√d.
func shrinkage(n, d int) float64 {
	r := float64(d) / float64(n+d)
	return max(r*r, 0x1p-20)
}

// mix returns the Ψ and Ψ^(−ᵀ) of ADERF and the argument of damping.
func (f *queryKeyMoments) mix() (query, key *mat.Dense, squares float64, err error) {
	var mx, my mat.Symmetric = shrunk(f.queries, f.queryCount), shrunk(f.keys, f.keyCount)
	if n := float64(f.d); mat.Trace(f.queries)/n == 0 || mat.Trace(f.keys)/n == 0 {
		identity := mat.NewDiagDense(f.d, slices.Repeat([]float64{1}, f.d))
		mx, my = identity, identity
	}
	var x, y mat.EigenSym
	if !x.Factorize(mx, true) || !y.Factorize(my, true) {
		return nil, nil, 0, errNotConverged
	}
	var product, u mat.Dense
	product.Mul(power(&x, 0.5), power(&y, 0.5))
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDThinU) {
		return nil, nil, 0, errNotConverged
	}
	svd.UTo(&u)
	query, key = new(mat.Dense), new(mat.Dense)
	query.Mul(u.T(), power(&x, -0.5))
	key.Mul(u.T(), power(&x, 0.5))
	for l, sigma := range svd.Values(nil) {
		floats.Scale(math.Sqrt(sigma), query.RawRowView(l))
		floats.Scale(1/math.Sqrt(sigma), key.RawRowView(l))
	}
	return query, key, trace(query, f.queries) + trace(key, f.keys), nil
}

var errNotConverged = errors.New("rff: the eigenvalues of the second moments of x and y did not converge")

// shrunk returns (1−r)·m + r·tr(m)/d·I, r the shrinkage of n points.
func shrunk(m *mat.SymDense, n int) *mat.SymDense {
	d := m.SymmetricDim()
	mean := mat.Trace(m) / float64(d)
	r := shrinkage(n, d)
	s := mat.NewSymDense(d, nil)
	s.ScaleSym(1-r, m)
	for j := range d {
		s.SetSym(j, j, s.At(j, j)+r*mean)
	}
	return s
}

// power returns the matrix with the eigenvectors of e and the p-th powers of its eigenvalues.
func power(e *mat.EigenSym, p float64) *mat.Dense {
	var q, scaled, m mat.Dense
	e.VectorsTo(&q)
	values := e.Values(nil)
	scaled.Apply(func(_, j int, v float64) float64 { return v * math.Pow(values[j], p) }, &q)
	m.Mul(&scaled, q.T())
	return &m
}

func trace(p *mat.Dense, m *mat.SymDense) float64 {
	var pm mat.Dense
	pm.Mul(p, m)
	r, _ := p.Dims()
	sum := 0.0
	for i := range r {
		sum += floats.Dot(pm.RawRowView(i), p.RawRowView(i))
	}
	return sum
}
