package orf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/limit"
)

// Option adjusts a constructor: FixedLength, Blocks or Rotations. A
// constructor returns an error for an option that does not apply to it, for one
// that is given twice and for the zero Option.
type Option struct {
	name  string
	value int
}

const (
	fixedLength = "FixedLength"
	blocks      = "Blocks"
	rotations   = "Rotations"
)

// FixedLength gives every frequency the length √d of R^d (√d' of the padded
// R^d' in Hadamard and Fastfood) instead of drawing it from the χ law. It applies to
// every constructor that takes options.
//
// The variance of the dot-product estimator falls, but a kernel that depends on
// the law of ‖w‖ is estimated with a bias: with rows uniform on the sphere, the
// Gaussian kernel exp(−q/2), q = ‖x−y‖², is estimated with mean
//
//	₀F₁(; d/2; −d·q/4)
//
// which tends to exp(−q/2) only as d grows, and takes negative values. Sign
// features, which ignore lengths, are not affected.
//
// Source: [Demni and Kadri 2024].
func FixedLength() Option { return Option{name: fixedLength} }

// Blocks sets the number k ≥ 1 of factors (1/√d')·H·D_i of a rotation of
// Hadamard; the default is 3. It applies to Hadamard only.
func Blocks(k int) Option { return Option{name: blocks, value: k} }

// Rotations sets the number n ≥ 1 of plane rotations in a product of Givens;
// the default is ⌈d·log₂ d⌉. It applies to Givens only.
func Rotations(n int) Option { return Option{name: rotations, value: n} }

// settings is what the options of one call amount to.
type settings struct {
	fixed     bool
	blocks    int
	rotations int // 0 stands for the default
}

// configure checks the arguments that every constructor has and reads opts, of
// which allowed names those that apply to constructor. Memory holds m and d numbers, so
// that there is an order ≥ d.
func configure(constructor string, m, d int, src rand.Source, opts []Option, allowed ...string) (settings, error) {
	s := settings{blocks: 3}
	switch {
	case m < 1:
		return s, fmt.Errorf("orf: m = %d, want at least 1", m)
	case d < 1:
		return s, fmt.Errorf("orf: d = %d, want at least 1", d)
	case src == nil:
		return s, errors.New("orf: src is nil")
	}
	if err := limit.Memory[float64](m); err != nil {
		return s, fmt.Errorf("orf: m = %d: %w", m, err)
	}
	if err := limit.Memory[float64](d); err != nil {
		return s, fmt.Errorf("orf: d = %d: %w", d, err)
	}
	for i, o := range opts {
		switch {
		case o.name == "":
			return s, fmt.Errorf("orf: option %d of %s is the zero Option", i, constructor)
		case !slices.Contains(allowed, o.name):
			return s, fmt.Errorf("orf: option %s does not apply to %s", o.name, constructor)
		case slices.ContainsFunc(opts[:i], func(p Option) bool { return p.name == o.name }):
			return s, fmt.Errorf("orf: option %s is given twice", o.name)
		}
		switch o.name {
		case fixedLength:
			s.fixed = true
		case blocks:
			if o.value < 1 {
				return s, fmt.Errorf("orf: Blocks(%d), want at least 1", o.value)
			}
			s.blocks = o.value
		case rotations:
			if o.value < 1 {
				return s, fmt.Errorf("orf: Rotations(%d), want at least 1", o.value)
			}
			s.rotations = o.value
		}
	}
	return s, nil
}
