package orf

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// Ensemble says from which law the frequencies of a projection were drawn, so that
// what theory knows of that law can be looked up. Ensembles are comparable.
type Ensemble struct {
	Kind Kind

	// FixedLength says that every frequency has the length √Order, as the option
	// FixedLength makes it.
	FixedLength bool

	// Factors is the number of factors of a HadamardProduct, or of plane rotations
	// of a GivensProduct, 0 in R¹; 0 of other kinds.
	Factors int

	// Order is the number of rows of a whole block, inside which frequencies depend on
	// each other, while those of different blocks are independent: d, or the order d'
	// that points are padded to; 1 if all frequencies are independent; m if none
	// are, in a point set; 0 of Given frequencies.
	Order int
}

// Drawn is a projection that knows its law. The projections of this package are
// Drawn, those of Of with Kind Given.
type Drawn[T dense.Float] interface {
	Projection[T]

	// Ensemble returns the law that the frequencies were drawn from.
	Ensemble() Ensemble
}

// Kind is the family of an Ensemble, named after what its constructor draws.
type Kind int

const (
	Given           Kind = iota // Of: frequencies of the caller's
	Independent                 // IID
	HaarOrthogonal              // GramSchmidt
	HaarSimplex                 // Simplex
	HadamardProduct             // Hadamard
	GivensProduct               // Givens
	FastfoodProduct             // Fastfood
	HaltonPoints                // Halton
	SobolPoints                 // Sobol
)

var kinds = [...]string{
	Given:           "given",
	Independent:     "independent",
	HaarOrthogonal:  "Haar orthogonal",
	HaarSimplex:     "Haar simplex",
	HadamardProduct: "Hadamard product",
	GivensProduct:   "Givens product",
	FastfoodProduct: "Fastfood product",
	HaltonPoints:    "Halton points",
	SobolPoints:     "Sobol points",
}

// String returns the name of the kind in words, or Kind(k) if it has none.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kinds[k]
}

func (e *explicit[T]) Ensemble() Ensemble { return e.ensemble }

func (p *structured[T]) Ensemble() Ensemble { return p.ensemble }
