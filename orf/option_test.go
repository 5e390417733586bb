package orf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
)

func testErrors[T dense.Float](t *testing.T) {
	src := exprand.NewSource(1)
	forEach(t, func(t *testing.T, c construction[T]) {
		for _, e := range []struct {
			m, d int
			src  rand.Source
			opts []Option
			want string
		}{
			{0, 3, src, nil, "orf: m = 0, want at least 1"},
			{-1, 3, src, nil, "orf: m = -1, want at least 1"},
			{3, 0, src, nil, "orf: d = 0, want at least 1"},
			{3, 3, nil, nil, "orf: src is nil"},
			{3, 3, src, []Option{FixedLength(), FixedLength()}, "orf: option FixedLength is given twice"},
			{3, 3, src, []Option{FixedLength(), {}}, "orf: option 1 of " + c.name + " is the zero Option"},
		} {
			p, err := c.draw(e.m, e.d, e.src, e.opts...)
			assert.EqualError(t, err, e.want)
			assert.Nil(t, p)
		}
		for _, o := range []struct {
			option Option
			owner  string
		}{{Blocks(2), "Hadamard"}, {Rotations(2), "Givens"}} {
			_, err := c.draw(3, 3, src, o.option)
			if c.name == o.owner {
				assert.NoError(t, err)
				continue
			}
			assert.EqualError(t, err, "orf: option "+o.option.name+" does not apply to "+c.name)
		}
	})
	for k, want := range map[int]string{0: "orf: Blocks(0), want at least 1", -3: "orf: Blocks(-3), want at least 1"} {
		_, err := Hadamard[T](3, 3, src, Blocks(k))
		assert.EqualError(t, err, want)
	}
	_, err := Givens[T](3, 3, src, Rotations(0))
	assert.EqualError(t, err, "orf: Rotations(0), want at least 1")
	_, err = Givens[T](3, 1, src, Rotations(4))
	assert.EqualError(t, err, "orf: givens: n = 4, want 0 for d = 1, which has no planes")
	_, err = Hadamard[T](1, math.MaxInt, src)
	assert.ErrorContains(t, err, "orf: hadamard: d = ")
	_, err = Fastfood[T](1, math.MaxInt, src)
	assert.ErrorContains(t, err, "orf: fastfood: d = ")
}

func TestErrors(t *testing.T) {
	t.Run("type=float32", testErrors[float32])
	t.Run("type=float64", testErrors[float64])
}

func TestOptionsReachTheRotations(t *testing.T) {
	draw := func(p Projection[float64], err error) dense.Matrix[float64] {
		require.NoError(t, err)
		return p.Frequencies()
	}
	src := func() rand.Source { return exprand.NewSource(8) }
	standard := draw(Hadamard[float64](8, 8, src()))
	assert.Equal(t, standard, draw(Hadamard[float64](8, 8, src(), Blocks(3))), "3 is the default")
	assert.NotEqual(t, standard, draw(Hadamard[float64](8, 8, src(), Blocks(2))))

	// One factor, fixed length: every entry is ±1.
	for _, v := range draw(Hadamard[float64](8, 8, src(), Blocks(1), FixedLength())).Data {
		assert.InDelta(t, 1, v*v, 1e-14)
	}

	standard = draw(Givens[float64](8, 8, src()))
	assert.Equal(t, standard, draw(Givens[float64](8, 8, src(), Rotations(24))), "8·log₂ 8 is the default")
	// One rotation: six rows have a single entry that is not zero, two have two.
	zeros := 0
	for _, v := range draw(Givens[float64](8, 8, src(), Rotations(1))).Data {
		if v == 0 {
			zeros++
		}
	}
	assert.Equal(t, 64-6-4, zeros)
}
