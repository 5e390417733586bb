package hadamard

import (
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/compute/fwht"
)

const maxCore = 2048

// paley is a construction of a Hadamard matrix of order h from GF(p^e): Paley's first for
// h = p^e + 1, and Paley's second for h = 2(p^e + 1). p = 0 means no construction.
type paley struct {
	p, e   int
	second bool
}

// constructions returns the table whose index i has the construction of order 4i, for orders that
// are no powers of two. If an order has both constructions, the table has the second, because its
// matrix is symmetric.
var constructions = sync.OnceValue(func() *[maxCore/4 + 1]paley {
	var table [maxCore/4 + 1]paley
	for i := 1; i < len(table); i++ {
		h := 4 * i
		if h&(h-1) == 0 {
			continue
		}
		// h/2 − 1 is 1 modulo 4 for odd i, and h − 1 is always 3.
		if p, e, ok := primePower(h/2 - 1); ok && i%2 == 1 {
			table[i] = paley{p, e, true}
		} else if p, e, ok := primePower(h - 1); ok {
			table[i] = paley{p, e, false}
		}
	}
	return &table
})

func (c paley) signs() []int8 {
	if c.second {
		return c.secondSigns()
	}
	return c.firstSigns()
}

// firstSigns is Paley's first construction, I + S with
//
//	S = [  0  1ᵀ ],  Q_ab = χ(a − b),
//	    [ −1  Q  ]
//
// S and Q are antisymmetric, because −1 is no square in GF(q), q ≡ 3 (mod 4).
func (c paley) firstSigns() []int8 {
	s := c.conference(-1)
	order := power(c.p, c.e) + 1
	for a := range order {
		s[a*order+a] = 1
	}
	return s
}

// secondSigns is Paley's second construction,
//
//	S ⊗ [ 1  1 ] + I ⊗ [  1 −1 ],  S = [ 0  1ᵀ ]
//	    [ 1 −1 ]       [ −1 −1 ]       [ 1  Q  ]
//
// S and Q are symmetric, because −1 is a square in GF(q), q ≡ 1 (mod 4).
func (c paley) secondSigns() []int8 {
	s := c.conference(1)
	half := power(c.p, c.e) + 1
	order := 2 * half
	h := make([]int8, order*order)
	for a := range half {
		for b := range half {
			block := [4]int8{1, -1, -1, -1}
			if v := s[a*half+b]; a != b {
				block = [4]int8{v, v, v, -v}
			}
			top := 2*a*order + 2*b
			h[top], h[top+1] = block[0], block[1]
			h[top+order], h[top+order+1] = block[2], block[3]
		}
	}
	return h
}

// conference returns S, with 0 on the diagonal and the sign below in the first column.
func (c paley) conference(below int8) []int8 {
	chi := character(c.p, c.e)
	q := len(chi)
	order := q + 1
	s := make([]int8, order*order)
	for b := 1; b < order; b++ {
		s[b], s[b*order] = 1, below
	}
	for a := range q {
		for b := range q {
			s[(a+1)*order+b+1] = chi[minus(a, b, c.p, q)]
		}
	}
	return s
}

// core is the matrix C of order h, applied after the transforms of order 2^k.
type core struct{ forward, transposed *fwht.Core }

var cores [maxCore/4 + 1]atomic.Pointer[core]

func coreOf(h int) *core {
	if c := cores[h/4].Load(); c != nil {
		return c
	}
	construction := constructions()[h/4]
	signs := construction.signs()
	c := &core{forward: fwht.NewCore(h, signs)}
	if construction.second {
		c.transposed = c.forward
	} else {
		for i := range h {
			for j := range i {
				signs[i*h+j], signs[j*h+i] = signs[j*h+i], signs[i*h+j]
			}
		}
		c.transposed = fwht.NewCore(h, signs)
	}
	// Every call returns the core of the goroutine that stored one first.
	if !cores[h/4].CompareAndSwap(nil, c) {
		return cores[h/4].Load()
	}
	return c
}
