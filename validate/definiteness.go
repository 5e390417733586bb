package validate

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Verdict describes the signs of the eigenvalues of a symmetric matrix, as far as rounding allows.
type Verdict int

const (
	// PositiveDefinite: every eigenvalue is above the tolerance.
	PositiveDefinite Verdict = iota + 1
	// PositiveSemidefinite: no eigenvalue is below minus the tolerance, and one is close to zero.
	PositiveSemidefinite
	// Indefinite: at least one eigenvalue is below minus the tolerance. Negative definite matrices
	// count as Indefinite, because no kernel has such a Gram matrix.
	Indefinite
)

// String returns the verdict in words, such as "positive definite".
func (v Verdict) String() string {
	if v < PositiveDefinite || v > Indefinite {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return [...]string{"positive definite", "positive semi-definite", "indefinite"}[v-PositiveDefinite]
}

// Spectrum holds the eigenvalues of a symmetric n×n matrix A and a verdict on their signs.
type Spectrum struct {
	Verdict Verdict
	// Eigenvalues of A, ascending.
	Eigenvalues []float64
	// Tolerance is n·ε·max|λ| for an n×n matrix with eigenvalues λ, where ε is 2⁻⁵² for float64 and
	// 2⁻²³ for float32. An eigenvalue closer to zero than Tolerance may come from rounding.
	Tolerance float64
	// Rank is the number of eigenvalues λ with |λ| > Tolerance.
	Rank int
	// Witness is a unit vector v with QuadraticForm = vᵀAv < 0 if the matrix A is Indefinite: the
	// eigenvector of the smallest eigenvalue. Otherwise Witness is nil and QuadraticForm is 0.
	Witness       []float64
	QuadraticForm float64
}

// String returns in words the verdict, the range of the eigenvalues and the rank.
func (s Spectrum) String() string {
	n := len(s.Eigenvalues)
	if n == 0 {
		return "no eigenvalues"
	}
	text := fmt.Sprintf("%v: eigenvalues from %.3g to %.3g, rank %d of %d (tolerance %.3g)",
		s.Verdict, s.Eigenvalues[0], s.Eigenvalues[n-1], s.Rank, n, s.Tolerance)
	if s.Verdict == Indefinite {
		text += fmt.Sprintf("; witness v with vᵀAv = %.3g", s.QuadraticForm)
	}
	return text
}

// Definiteness returns the eigenvalues of the symmetric n×n matrix a and a verdict on their signs,
// by gonum's mat.EigenSym in float64, in O(n³) time. Definiteness counts eigenvalues λ as zero if
// |λ| ≤ n·ε·max|λ|, with ε = 2⁻⁵² for float64 and 2⁻²³ for float32: rounding of elements changes
// eigenvalues by about that much. If a is symmetric up to rounding only, Definiteness returns the
// eigenvalues of (a + aᵀ)/2. Definiteness does not change a.
//
// Definiteness returns an error if a is empty or not square, if an element is NaN or infinite, if
// the n×n matrix a differs from aᵀ by more than n·ε times the largest element, and if the
// eigenvalues do not converge.
func Definiteness[T dense.Float](a dense.Matrix[T]) (Spectrum, error) {
	asymmetry, err := CheckSymmetric(a)
	if err != nil {
		return Spectrum{}, err
	}
	n := a.Rows
	if n == 0 {
		return Spectrum{}, errors.New("validate: a is 0×0, want at least 1×1")
	}
	relative := float64(n) * 2 * vecmath.Roundoff[T]()
	sym, largest := symmetricPart(a)
	if asymmetry.Difference > relative*largest {
		return Spectrum{}, fmt.Errorf("validate: a is %v", asymmetry)
	}
	return spectrum(sym, relative)
}

func symmetricPart[T dense.Float](a dense.Matrix[T]) (part *mat.SymDense, largest float64) {
	part = mat.NewSymDense(a.Rows, nil)
	for i := range a.Rows {
		for j := i; j < a.Rows; j++ {
			v := float64(a.At(i, j))/2 + float64(a.At(j, i))/2
			part.SetSym(i, j, v)
			largest = math.Max(largest, math.Abs(v))
		}
	}
	return part, largest
}

func spectrum(a *mat.SymDense, relative float64) (Spectrum, error) {
	n := a.SymmetricDim()
	var eig mat.EigenSym
	if !eig.Factorize(a, true) {
		return Spectrum{}, fmt.Errorf("validate: the eigenvalues of the %d×%d matrix did not converge", n, n)
	}
	s := Spectrum{Eigenvalues: eig.Values(nil)}
	lowest, highest := s.Eigenvalues[0], s.Eigenvalues[n-1]
	if !isFinite(lowest) || !isFinite(highest) {
		return Spectrum{}, fmt.Errorf("validate: the eigenvalues of the %d×%d matrix overflow", n, n)
	}
	s.Tolerance = relative * math.Max(math.Abs(lowest), math.Abs(highest))
	for _, v := range s.Eigenvalues {
		if math.Abs(v) > s.Tolerance {
			s.Rank++
		}
	}
	switch {
	case lowest > s.Tolerance:
		s.Verdict = PositiveDefinite
	case lowest >= -s.Tolerance:
		s.Verdict = PositiveSemidefinite
	default:
		s.Verdict = Indefinite
		var vectors mat.Dense
		eig.VectorsTo(&vectors)
		witness := mat.VecDenseCopyOf(vectors.ColView(0))
		s.Witness, s.QuadraticForm = witness.RawVector().Data, mat.Inner(witness, a, witness)
	}
	return s, nil
}
