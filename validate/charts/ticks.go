package charts

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// roundTicks marks a logarithmic axis at 1, 2, 5 times powers of ten, and labels all of them as
// long as that is legible, else the powers only, and of more than ten powers every second, third, …
// If this makes fewer than two labels, it takes the
// labels of a linear axis.
type roundTicks struct{}

// Ticks implements plot.Ticker.
func (roundTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	labels := 0
	decades := math.Log10(hi / lo)
	every := 1 + int(decades/10)
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for digit := 1; digit <= 9; digit++ {
			v := float64(digit) * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 && int(e)%every == 0 || decades < 3 && (digit == 2 || digit == 5) {
				t.Label = label(v)
				labels++
			}
			if every == 1 || t.Label != "" {
				ticks = append(ticks, t)
			}
		}
	}
	if labels < 2 {
		return evenTicks{}.Ticks(lo, hi)
	}
	return ticks
}

// label returns three digits of v, and no exponent for a number that is short without.
func label(v float64) string {
	if v >= 1000 && v < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// clearOfEnds drops the labels of a vertical axis that would reach above or below it: gonum makes
// room for them, and panels side by side would differ in height.
type clearOfEnds struct {
	plot.Ticker
	log bool
}

// Ticks implements plot.Ticker.
func (c clearOfEnds) Ticks(lo, hi float64) []plot.Tick {
	at := func(v float64) float64 { return (v - lo) / (hi - lo) }
	if c.log {
		at = func(v float64) float64 { return math.Log(v/lo) / math.Log(hi/lo) }
	}
	const half = 0.025 // the height of a label, in heights of a panel
	ticks := c.Ticker.Ticks(lo, hi)
	for i, t := range ticks {
		if place := at(t.Value); place < half || place > 1-half {
			ticks[i].Label = ""
		}
	}
	return ticks
}

// evenTicks marks a linear axis at multiples of 1, 2 or 5 times a power of ten, with four to eleven
// labels.
type evenTicks struct{}

// Ticks implements plot.Ticker.
func (evenTicks) Ticks(lo, hi float64) []plot.Tick {
	const least = 4
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/least)))
	for _, factor := range []float64{5, 2} {
		if math.Floor(hi/(factor*step))-math.Ceil(lo/(factor*step))+1 >= least {
			step *= factor
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step))))
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		// The sum turns −0 into 0.
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step+0, 'f', digits, 64)})
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
