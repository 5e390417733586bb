package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// lengths returns draws from χ(d), or always √d, the root mean square of χ(d).
func lengths(fixed bool, src rand.Source) func(d int) float64 {
	if fixed {
		return func(d int) float64 { return math.Sqrt(float64(d)) }
	}
	return func(d int) float64 { return distuv.Chi{K: float64(d), Src: src}.Rand() }
}
