package codelaw

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Cells rounds a number x with Edges[j] ≤ |x| < Edges[j+1] to Levels[j] with the sign of x. Edges
// ascend from Edges[0] = 0, and the last cell has no upper edge.
type Cells struct{ Edges, Levels []float64 }

// Uniform returns n cells of width step, with levels at their midpoints.
func Uniform(n int, step float64) Cells {
	c := Cells{make([]float64, n), make([]float64, n)}
	for j := range n {
		c.Edges[j], c.Levels[j] = float64(j)*step, (float64(j)+0.5)*step
	}
	return c
}

func (c Cells) jump(j int) float64 {
	if j == 0 {
		return c.Levels[0]
	}
	return c.Levels[j] - c.Levels[j-1]
}

// Moments returns the moments of the code s of a uniform unit vector in R^d, d ≥ 2, in closed form.
func (c Cells) Moments(d int) Moments {
	m, two := Moments{}, 0.0
	m.Along, m.Square = c.lengths(d)
	for j, t := range c.Edges {
		rise := c.jump(j)
		m.AlongSquare += rise * (c.Levels[j] + c.Levels[j] - rise) * secondBeyond(d, t)
		for k, s := range c.Edges {
			if left := 1 - t*t - s*s; left > 0 {
				two += rise * c.jump(k) * math.Pow(left, float64(d)/2)
			}
		}
	}
	n := float64(d)
	m.AlongSquare = n*m.AlongSquare + 2*(n-1)/math.Pi*two
	return m
}

// lengths returns E sᵀu and E‖s‖².
func (c Cells) lengths(d int) (along, square float64) {
	for j, t := range c.Edges {
		rise := c.jump(j)
		along += rise * firstBeyond(d, t)
		square += rise * (c.Levels[j] + c.Levels[j] - rise) * beyond(d, t) // the rise of Levels²
	}
	return along * float64(d), square * float64(d)
}

// beyond returns P(|u₁| > t), firstBeyond E[|u₁|; |u₁| > t] and secondBeyond E[u₁²; |u₁| > t] for a
// uniform unit vector in R^d: u₁² has the law Beta(½, (d−1)/2).

func beyond(d int, t float64) float64 {
	if t >= 1 {
		return 0
	}
	return mathext.RegIncBeta(float64(d-1)/2, 0.5, (1-t)*(1+t))
}

func firstBeyond(d int, t float64) float64 {
	if t >= 1 {
		return 0
	}
	return meanAbsolute(d) * math.Exp(float64(d-1)/2*math.Log1p(-t*t))
}

func secondBeyond(d int, t float64) float64 {
	if t >= 1 {
		return 0
	}
	return mathext.RegIncBeta(float64(d-1)/2, 1.5, (1-t)*(1+t)) / float64(d)
}
