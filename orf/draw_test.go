package orf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
)

func testErrors[T dense.Float](t *testing.T) {
	src := exprand.NewSource(1)
	forEach(t, func(t *testing.T, c construction[T]) {
		for _, e := range []struct {
			m, d int
			src  rand.Source
			want string
		}{
			{0, 3, src, "orf: m = 0, want at least 1"},
			{-1, 3, src, "orf: m = -1, want at least 1"},
			{3, 0, src, "orf: d = 0, want at least 1"},
			{3, 3, nil, "orf: src is nil"},
		} {
			p, err := c.draw(e.m, e.d, e.src)
			assert.EqualError(t, err, e.want)
			assert.Nil(t, p)
		}
	})
	_, err := orf.Draw[T](orf.Hadamard{Factors: -3}, 3, 3, src)
	assert.EqualError(t, err, "orf: Hadamard.Factors = -3, want at least 1, or 0 for 3")
	_, err = orf.Draw[T](orf.Givens{Rotations: -1}, 3, 3, src)
	assert.EqualError(t, err, "orf: Givens.Rotations = -1, want at least 1, or 0 for ⌈d·log₂ d⌉")
	_, err = orf.Draw[T](orf.Givens{Rotations: 4}, 3, 1, src)
	assert.EqualError(t, err, "orf: givens: n = 4, want 0 for d = 1, which has no planes")
}

func testSizes[T dense.Float](t *testing.T) {
	const most = math.MaxInt/2 + 1
	src := exprand.NewSource(1)
	memory := func(p orf.Projection[T], err error, want string) {
		t.Helper()
		require.ErrorContains(t, err, "orf: "+want)
		assert.ErrorContains(t, err, " of memory, want at most ")
		assert.Nil(t, p)
	}
	forEach(t, func(t *testing.T, c construction[T]) {
		for _, size := range []int{math.MaxInt, most, most / 4, math.MaxInt/8 + 1} {
			p, err := c.draw(size, 3, src)
			memory(p, err, fmt.Sprintf("m = %d", size))
			p, err = c.draw(3, size, src)
			memory(p, err, fmt.Sprintf("d = %d", size))
		}
		_, err := c.draw(1<<12, 8, src)
		assert.NoError(t, err)
	})
	const side = 1 << 23
	for _, e := range []orf.Ensemble{orf.IID{}, orf.GramSchmidt{}, orf.Simplex{}} {
		t.Run(e.String(), func(t *testing.T) {
			p, err := orf.Draw[T](e, side, side, src)
			memory(p, err, "m = 8388608, d = 8388608: ")
		})
	}
	p, err := orf.Draw[T](orf.Hadamard{Factors: most}, 4, 4, src)
	memory(p, err, fmt.Sprintf("m = 4, d = 4, Hadamard.Factors = %d: ", most))
	p, err = orf.Draw[T](orf.Hadamard{Factors: 1 << 30}, 4, 1<<22, src)
	memory(p, err, "m = 4, d = 4194304, Hadamard.Factors = 1073741824: ")
	p, err = orf.Draw[T](orf.Givens{Rotations: most}, 4, 4, src)
	memory(p, err, fmt.Sprintf("m = 4, d = 4, Givens.Rotations = %d: ", most))
	p, err = orf.Draw[T](orf.Givens{Rotations: 1 << 30}, 1<<22, 2, src)
	memory(p, err, "m = 4194304, d = 2, Givens.Rotations = 1073741824: ")

	// Structured frequencies are not held: 2⁴⁰ of them take the memory of 2²³.
	p = must.Have(orf.Draw[T](orf.Hadamard{}, 1<<20, 1<<20, src))
	m, d := p.Shape()
	assert.Equal(t, [2]int{1 << 20, 1 << 20}, [2]int{m, d})
}

func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func TestErrors(t *testing.T) {
	densetest.Both(t, testErrors[float32], testErrors[float64])
}

func TestFactorsAndRotations(t *testing.T) {
	draw := func(p orf.Projection[float64], err error) dense.Matrix[float64] {
		require.NoError(t, err)
		return p.Frequencies()
	}
	src := func() rand.Source { return exprand.NewSource(8) }
	standard := draw(orf.Draw[float64](orf.Hadamard{}, 8, 8, src()))
	assert.Equal(t, standard, draw(orf.Draw[float64](orf.Hadamard{Factors: 3}, 8, 8, src())), "3 is the default")
	assert.NotEqual(t, standard, draw(orf.Draw[float64](orf.Hadamard{Factors: 2}, 8, 8, src())))

	// One factor, fixed length: every entry is ±1.
	for _, v := range draw(orf.Draw[float64](orf.Hadamard{Factors: 1, FixedLength: true}, 8, 8, src())).Data {
		assert.InDelta(t, 1, v*v, 1e-14)
	}

	standard = draw(orf.Draw[float64](orf.Givens{}, 8, 8, src()))
	assert.Equal(t, standard, draw(orf.Draw[float64](orf.Givens{Rotations: 24}, 8, 8, src())), "8·log₂ 8 is the default")
	// One rotation: six rows have a single entry that is not zero, two have two.
	zeros := 0
	for _, v := range draw(orf.Draw[float64](orf.Givens{Rotations: 1}, 8, 8, src())).Data {
		if v == 0 {
			zeros++
		}
	}
	assert.Equal(t, 64-6-4, zeros)
}
