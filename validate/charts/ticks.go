package charts

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// roundTicks marks a logarithmic axis at 1, 2, 5 times powers of ten, and labels all of them as
// long as that is legible, else the powers only. If this makes fewer than two labels, it takes the
// labels of a linear axis.
type roundTicks struct{}

// Ticks implements plot.Ticker.
func (roundTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	labels := 0
	decades := math.Log10(hi / lo)
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for digit := 1; digit <= 9; digit++ {
			v := float64(digit) * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 || decades < 3 && (digit == 2 || digit == 5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
				labels++
			}
			ticks = append(ticks, t)
		}
	}
	if labels < 2 {
		return plot.DefaultTicks{}.Ticks(lo, hi)
	}
	return ticks
}

// fixedTicks labels the given values.
type fixedTicks []float64

// Ticks implements plot.Ticker.
func (f fixedTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range f {
		if v >= lo && v <= hi {
			ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)})
		}
	}
	return ticks
}
