package orf

import (
	"fmt"
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
}

func testSizes[T dense.Float](t *testing.T) {
	const most = math.MaxInt/2 + 1
	src := exprand.NewSource(1)
	memory := func(p Projection[T], err error, want string) {
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
	for name, draw := range map[string]func(m, d int, src rand.Source, opts ...Option) (Projection[T], error){
		"IID": IID[T], "GramSchmidt": GramSchmidt[T], "Simplex": Simplex[T],
	} {
		t.Run(name, func(t *testing.T) {
			p, err := draw(side, side, src)
			memory(p, err, "m = 8388608, d = 8388608: ")
		})
	}
	p, err := Hadamard[T](4, 4, src, Blocks(most))
	memory(p, err, fmt.Sprintf("m = 4, d = 4, Blocks(%d): ", most))
	p, err = Hadamard[T](4, 1<<22, src, Blocks(1<<30))
	memory(p, err, "m = 4, d = 4194304, Blocks(1073741824): ")
	p, err = Givens[T](4, 4, src, Rotations(most))
	memory(p, err, fmt.Sprintf("m = 4, d = 4, Rotations(%d): ", most))
	p, err = Givens[T](1<<22, 2, src, Rotations(1<<30))
	memory(p, err, "m = 4194304, d = 2, Rotations(1073741824): ")

	// Structured frequencies are not held: 2⁴⁰ of them take the memory of 2²³.
	p, err = Hadamard[T](1<<20, 1<<20, src)
	require.NoError(t, err)
	m, d := p.Dims()
	assert.Equal(t, [2]int{1 << 20, 1 << 20}, [2]int{m, d})
}

func TestSizes(t *testing.T) {
	t.Run("type=float32", testSizes[float32])
	t.Run("type=float64", testSizes[float64])
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
