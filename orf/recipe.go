package orf

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/argument"
)

type explicitRecipe[T dense.Float] struct {
	Frequencies dense.Matrix[T]
	Ensemble    Ensemble // nil for frequencies of FromMatrix
}

func (p *explicit[T]) Recipe() (any, error) { return explicitRecipe[T]{p.w, p.ensemble}, nil }

func (r explicitRecipe[T]) make() (Projection[T], error) {
	if err := checkFrequencies(r.Frequencies); err != nil {
		return nil, err
	}
	return newExplicit(r.Frequencies, r.Ensemble), nil
}

type structuredRecipe[T dense.Float] struct {
	FixedLength bool
	Blocks      []blockRecipe[T]
}

// Frequency k is Lengths[k] times row Rows[k] of a rotation or a product.
type blockRecipe[T dense.Float] struct {
	Rotation *hadamard.Rotation[T] // of Hadamard, or nil
	Product  *givens.Product[T]    // of Givens, or nil
	Rows     []int32
	Lengths  []T
}

func (p *structured[T]) Recipe() (any, error) {
	var r structuredRecipe[T]
	for _, b := range p.blocks {
		of := blockRecipe[T]{Rows: b.rows, Lengths: b.lengths}
		switch o := b.r.(type) {
		case *hadamard.Rotation[T]:
			of.Rotation, r.FixedLength = o, p.ensemble.(Hadamard).FixedLength
		case planar[T]:
			of.Product, r.FixedLength = o.p, p.ensemble.(Givens).FixedLength
		}
		r.Blocks = append(r.Blocks, of)
	}
	return r, nil
}

func (r structuredRecipe[T]) make() (Projection[T], error) {
	p := new(structured[T])
	p.project, p.transpose = p.forward, p.backward
	for i, b := range r.Blocks {
		var o operator[T]
		var d, order int
		var e Ensemble
		switch {
		case (b.Rotation == nil) == (b.Product == nil):
			return nil, fmt.Errorf("orf: block %d has both of rotation and product or none, want one", i)
		case b.Rotation != nil:
			d, order = b.Rotation.Dims()
			o, e = b.Rotation, Hadamard{r.FixedLength, b.Rotation.Len()}
		default:
			d, order = b.Product.Dims()
			o, e = planar[T]{b.Product}, Givens{r.FixedLength, b.Product.Len()}
		}
		if i == 0 {
			p.d, p.order, p.ensemble = d, order, e
		}
		n, last := len(b.Rows), i == len(r.Blocks)-1
		switch {
		case d != p.d || order != p.order || e != p.ensemble:
			return nil, fmt.Errorf("orf: block %d maps R^%d to R^%d by %v, want R^%d to R^%d by %v as block 0", i, d, order, e, p.d, p.order, p.ensemble)
		case n < 1 || n != len(b.Lengths) || n != order && !last:
			return nil, fmt.Errorf("orf: block %d has %d rows and %d lengths, want %d, or fewer in the last block", i, n, len(b.Lengths), order)
		}
		err := cmp.Or(argument.FiniteAll("orf: lengths", b.Lengths), checkRows(b.Rows, order))
		if err != nil {
			return nil, err
		}
		p.blocks = append(p.blocks, block[T]{r: o, rows: b.Rows, lengths: b.Lengths})
		p.m += n
	}
	if p.m == 0 {
		return nil, errors.New("orf: no blocks, want at least 1")
	}
	return p, nil
}

func checkRows(rows []int32, n int) error {
	seen := make(map[int32]bool, len(rows))
	for _, r := range rows {
		if r < 0 || int(r) >= n || seen[r] {
			return fmt.Errorf("orf: rows have %d, want different numbers from 0 to %d", r, n-1)
		}
		seen[r] = true
	}
	return nil
}
