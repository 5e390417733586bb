package instance

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

var twiceBoth = Both{twice[float32], twice[float64]}

func Twice[T float32 | float64](x T) T { return Of(&twiceBoth, Twice[T])(x) }

func twice[T float32 | float64](x T) T { return 2 * x }

type number[T float32 | float64] struct{ x T }

var numberAddBoth = Both{numberAdd[float32], numberAdd[float64]}

func (n *number[T]) Add(x T) { Of(&numberAddBoth, (*number[T]).Add)(n, x) }

func numberAdd[T float32 | float64](n *number[T], x T) { n.x += x }

func TestOf(t *testing.T) {
	assert.Equal(t, float32(6), Twice[float32](3))
	assert.Equal(t, 6.0, Twice(3.0))
	single, double := number[float32]{1}, number[float64]{2}
	single.Add(2)
	double.Add(3)
	assert.Equal(t, float32(3), single.x)
	assert.Equal(t, 5.0, double.x)
	assert.Zero(t, testing.AllocsPerRun(100, func() { double.Add(1) }))
	assert.Panics(t, func() { Of(&twiceBoth, func(int) int { return 0 }) })
}
