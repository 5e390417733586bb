package gramian

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
)

const (
	scaleSteps = 40
	laterSteps = 10  // from the best length-scales of a smaller part of the rows
	laterUnit  = 0.1 // the length of the first of these steps
	// the least number of rows of a part, in all and for each column, whose scales else fit noise
	leastPart, leastOfColumn = 250, 15
	// leastRatio is the least λ in units of the mean of ω·k(x, x). As the length-scale ℓ of a
	// linear column rises, the best λ falls as ℓ⁻², below what iterations can solve.
	leastRatio = 0x1p-23
)

// Learnt is a length-scale for each column and λ.
type Learnt struct {
	Logs  []float64 // of length-scales, in units of that of the kernel; nil without a fit
	Ratio float64   // λ
	// Loss is log Σω·e²/Σω·(y − ȳ)² of leave-one-out errors e, or −2·log evidence per target.
	Loss  float64
	Start float64 // the Loss for equal length-scales and the first λ
}

// LearnScales learns length-scales of a kernel with a profile, of least leave-one-out errors or of
// largest evidence, by L-BFGS on a part of the rows, and then on all. first returns λ for equal
// length-scales. An error of first at a part of the rows leaves the part out. With periods, L-BFGS
// also begins at the short length-scales of periods.
func LearnScales(ctx context.Context, k kernels.Kernel, x, y dense.Matrix[float64], weights []float64, evidence, periods bool,
	first func(x, y dense.Matrix[float64], weights []float64) (float64, error)) (best Learnt, err error) {
	of, _ := ProfileOf(k)
	s := &scales{ctx: ctx, profile: of, k: k, evidence: evidence}
	var start []float64
	for stride := max(1, min(4, x.Rows/max(leastPart, leastOfColumn*x.Cols))); stride > 0 && ctx.Err() == nil; stride /= 2 {
		s.take(x, y, weights, stride)
		if start != nil {
			from, least, first := s.best, s.least, best.Start
			s.least = math.Inf(1)
			s.at(start)
			best.Start = s.value
			s.at(from)
			if ctx.Err() != nil { // the values may be of no whole fit
				s.best, s.least, best.Start = from, least, first
				break
			}
			s.climb(from, laterUnit, laterSteps, 2)
			continue
		}
		ratio, err := first(s.x, s.y, s.weights)
		if err != nil && stride > 1 {
			continue // targets may be the same in a part of the rows
		}
		if err != nil {
			return best, err
		}
		start = make([]float64, x.Cols+1)
		start[x.Cols] = math.Log(max(ratio-s.floor, s.floor))
		s.best, s.least = start, math.Inf(1)
		s.at(start)
		best.Start = s.value
		s.climb(start, 1, scaleSteps, 3)
		if periods {
			if short := s.periods(start); !slices.Equal(short, start) {
				s.climb(short, 1, scaleSteps, 3)
			}
		}
	}
	if start != nil {
		best.Logs, best.Ratio, best.Loss = s.best[:x.Cols], s.floor+math.Exp(s.best[x.Cols]), s.least
	}
	return best, ctx.Err()
}

// scales is a loss as a function of logarithms of length-scales and of λ − floor.
type scales struct {
	ctx     context.Context
	profile Profile
	k       kernels.Kernel
	x, y    dense.Matrix[float64]
	weights []float64
	null    float64
	floor   float64

	evidence bool

	now   []float64 // the parameters of value and slope
	value float64
	slope []float64
	best  []float64
	least float64
}

// take sets the rows to a share 1/stride of the rows, with their spread and floor.
func (s *scales) take(x, y dense.Matrix[float64], weights []float64, stride int) {
	s.weights, s.floor, s.now = nil, 0, nil
	// Every stride-th row may be one quarter of every year.
	numbers := rand.New(rand.NewPCG(1, 2)).Perm(x.Rows)[:x.Rows/stride]
	slices.Sort(numbers)
	for _, i := range numbers {
		s.weights = append(s.weights, weights[i])
	}
	s.x, s.y = layout.Rows(x, numbers), layout.Rows(y, numbers)
	if s.evidence { // which has no bound for targets that are the same
		all := dense.Transpose(dense.Matrix[float64]{}, s.y)
		var vary []int
		for j := range all.Rows {
			if slices.ContainsFunc(all.Row(j), func(v float64) bool { return v != all.At(j, 0) }) {
				vary = append(vary, j)
			}
		}
		s.y = dense.Transpose(dense.Matrix[float64]{}, layout.Rows(all, vary))
	}
	// Slopes are differences of products of coordinates, whose rounding grows with the means.
	for i, middle := 0, Medians(s.x); i < s.x.Rows; i++ {
		vecmath.AddScaled(s.x.Row(i), middle, -1)
	}
	s.null = Spread(s.y, s.weights)
	for i, w := range s.weights {
		s.floor += leastRatio * w * s.k.Eval(s.x.Row(i), s.x.Row(i)) / float64(s.x.Rows)
	}
}

// climb minimises the loss from the parameters on, whose first step has the length unit, until as
// many steps as patience gain little.
func (s *scales) climb(from []float64, unit float64, steps, patience int) {
	at := func(q []float64) {
		p := slices.Clone(from)
		vecmath.AddScaled(p, q, unit)
		s.at(p)
	}
	// An error of the line search also ends the search.
	_, _ = optimize.Minimize(optimize.Problem{
		Func: func(q []float64) float64 { at(q); return s.value },
		Grad: func(to, q []float64) {
			at(q)
			copy(to, s.slope)
			vecmath.Scale(to, unit)
		},
		Status: func() (optimize.Status, error) {
			if s.ctx.Err() != nil {
				return optimize.RuntimeLimit, nil
			}
			return optimize.NotTerminated, nil
		},
	}, make([]float64, len(from)), &optimize.Settings{MajorIterations: steps, FuncEvaluations: 2 * steps, Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: patience}}, &optimize.LBFGS{})
}

// A fit that fails has the value +Inf.
func (s *scales) at(p []float64) {
	if slices.Equal(p, s.now) {
		return
	}
	s.now, s.value, s.slope = slices.Clone(p), math.Inf(1), make([]float64, len(p))
	for _, v := range p {
		if math.Abs(v) > 50 {
			return
		}
	}
	if err := s.fit(p); err != nil || s.value-s.value != 0 {
		s.value = math.Inf(1)
	}
	if s.value < s.least {
		s.least, s.best = s.value, s.now
	}
}

// fit computes the loss and its slopes from α = My and M = A⁻¹ − uuᵀ/(uᵀ1), u = A⁻¹1.
func (s *scales) fit(p []float64) error {
	n, d := s.x.Rows, s.x.Cols
	z := dense.New[float64](n, d)
	for i := range n {
		for j, v := range s.x.Row(i) {
			z.Set(i, j, v*math.Exp(-p[j]))
		}
	}
	gram := Gram(dense.Matrix[float64]{}, s.k, z, dense.Matrix[float64]{})
	ratio := math.Exp(p[d])
	system, err := NewSystem(s.ctx, gram.Clone(), s.weights, s.floor+ratio)
	if err != nil {
		return err
	}
	u, whole := system.Ones, vecmath.Sum(system.Ones)
	alpha, _ := system.Fit(s.y)
	half, m := dense.New[float64](n, n), dense.New[float64](n, n)
	if err := system.Factor.Invert(s.ctx, func(lo int, columns dense.Matrix[float64]) {
		dense.Copy(half.ColRange(lo, lo+columns.Cols), columns)
	}); err != nil {
		return err
	}
	symmetric(m, half, half, true)
	parallel.Rows(n, TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			vecmath.AddScaled(m.Row(i), u, -u[i]/whole)
		}
	})
	loss := s.leftOut
	if s.evidence {
		loss = s.likelihood
		s.value = system.Factor.LogDet + math.Log(whole)
	}
	g, total := loss(m, alpha, half)
	for i, w := range s.weights {
		s.slope[d] += g.At(i, i) * ratio / w / total
	}
	s.slopes(g, gram, z, total)
	return nil
}

// leftOut sets the value to the logarithm of a sum of squared leave-one-out errors e_i = α_i/M_ii.
// The differential of total = Σω·e² is Σ_ab G_ab·dA_ab with
//
//	G = M·diag(t)·M − αvᵀ − vαᵀ,  t_i = 2ω_i·e_i·α_i/M_ii²,  v = M·(ω_i·e_i/M_ii).
func (s *scales) leftOut(m, alpha, half dense.Matrix[float64]) (g dense.Matrix[float64], total float64) {
	n, outputs := alpha.Rows, alpha.Cols
	v, t := dense.New[float64](n, outputs), make([]float64, n)
	for i, w := range s.weights {
		own := m.At(i, i)
		for j, c := range alpha.Row(i) {
			e := c / own
			total += w * e * e
			v.Set(i, j, w*e/own)
			t[i] += 2 * w * e * c / (own * own)
		}
	}
	s.value = math.Log(total / s.null)
	sides := dense.New[float64](n, outputs)
	g = dense.New[float64](n, n)
	matmul.Mul(1, m, v, 0, sides)
	dense.Copy(half, m)
	for i, by := range t {
		vecmath.Scale(half.Row(i), by)
	}
	symmetric(g, m, half, false)
	matmul.MulT(-1, alpha, sides, 1, g)
	matmul.MulT(-1, sides, alpha, 1, g)
	return g, total
}

// likelihood sets the value to −2·log evidence per target. The differential of total times the
// value is Σ_ab G_ab·dA_ab with G = Σ( M − (n − 1)·ααᵀ/(yᵀα) ), summed over outputs.
func (s *scales) likelihood(m, alpha, _ dense.Matrix[float64]) (g dense.Matrix[float64], total float64) {
	n, outputs := float64(alpha.Rows), float64(alpha.Cols)
	total = n * outputs
	sum, scaled := outputs*s.value, alpha.Clone()
	squares := make([]float64, alpha.Cols)
	for i := range alpha.Rows {
		for j, a := range alpha.Row(i) {
			squares[j] += s.y.At(i, j) * a
		}
	}
	for j, square := range squares {
		sum += (n - 1) * math.Log(square)
		for i := range alpha.Rows {
			scaled.Row(i)[j] *= (n - 1) / square
		}
	}
	s.value = sum / total
	vecmath.Scale(m.Data, outputs)
	matmul.MulT(-1, scaled, alpha, 1, m)
	return m, total
}

// symmetric writes AᵀB, which must be symmetric. A lower matrix A is 0 above the diagonal.
func symmetric(dst, a, b dense.Matrix[float64], lower bool) {
	n := dst.Rows
	parallel.Rows(n, 2*TileRows, func(lo, hi int) {
		from := 0
		if lower {
			from = lo
		}
		matmul.TMul(1, a.RowRange(from, n).ColRange(lo, hi), b.RowRange(from, n).ColRange(0, hi), 0, dst.RowRange(lo, hi).ColRange(0, hi))
		for i := lo; i < hi; i++ {
			for j, v := range dst.Row(i)[:i] {
				dst.Data[j*dst.Stride+i] = v
			}
		}
	})
}

// For q = ‖z − z'‖² in units of the length-scale, dk = −2k'(q)·(z_j − z'_j)²·dlog ℓ_j.
func (s *scales) slopes(g, gram, z dense.Matrix[float64], total float64) {
	n, d, unit := z.Rows, z.Cols, s.profile.LengthScale
	squares, products := make([]float64, n), dense.New[float64](n, n)
	for i := range n {
		squares[i] = 2 * vecmath.HalfSquaredNorm(z.Row(i))
	}
	matmul.MulT(1, z, z, 0, products)
	sums := make([]float64, n)
	parallel.Rows(n, TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := g.Row(i)
			for j, k := range gram.Row(i) {
				q := max(0, squares[i]+squares[j]-2*products.At(i, j)) / unit / unit
				row[j] *= -2 * s.profile.Derivative(q, k) / unit / unit
			}
			sums[i] = vecmath.Sum(row)
		}
	})
	moved := dense.New[float64](n, d)
	matmul.Mul(1, g, z, 0, moved)
	for i := range n {
		for j, v := range z.Row(i) {
			s.slope[j] += 2 * v * (sums[i]*v - moved.At(i, j)) / total
		}
	}
}

// Spread returns Σω·(y − ȳ)², summed over the columns of y.
func Spread(y dense.Matrix[float64], weights []float64) float64 {
	total := math.SmallestNonzeroFloat64
	for j := range y.Cols {
		weight, mean := 0.0, 0.0
		for i, w := range weights {
			weight += w
			mean += w * (y.At(i, j) - mean) / weight
		}
		for i, w := range weights {
			total += w * (y.At(i, j) - mean) * (y.At(i, j) - mean)
		}
	}
	return total
}
