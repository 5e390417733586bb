package kernelridge

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/compute/conjugate"
)

const (
	// share is the part of the standard error of the squared errors at rows left out that stopping
	// may change them by.
	share = 0.1
	// steady is the number of products over which the squared errors must change by less than that.
	steady = 4
	// leastGoal is a relative residual at which a target is solved whatever its errors are, and
	// probeGoal one for the constant and the probes, whose estimates have larger errors.
	leastGoal, probeGoal = 1e-6, 0x1p-10
	// looser is the goal of a probe, whose randomness is a larger error, over Options.Tolerance.
	looser = 10
	// enough is a relative residual that suffices if rounding prevents a smaller one.
	enough = 1e-4
)

// aim has the relative residuals at which columns of a system are solved. For the residual r of a
// target and the solution x without the constant, the vector e = r + λx is y − f at the rows, times
// √ω. The errors at rows left out are e_i/(λ(A⁻¹)_ii), so that Σe_i² and its standard error are
// those of the squared errors left out, up to a factor, if all (A⁻¹)_ii are replaced by their mean:
// generalised cross-validation. The solution changes e by at most ‖r‖.
type aim struct {
	o      Options
	system *conjugate.System
	norms  []float64   // of the right-hand sides
	goals  []float64   // relative to norms
	sums   [][]float64 // Σe² of the last products, for each target, relative to squares of norms
}

func newAim(o Options, system *conjugate.System) *aim {
	a := &aim{o: o, system: system, norms: conjugate.Norms(system.Right)}
	a.goals = slices.Repeat([]float64{o.Tolerance}, len(a.norms))
	a.sums = make([][]float64, len(a.norms)-1-o.Probes)
	for j := len(a.sums) + 1; j < len(a.goals); j++ {
		a.goals[j] *= looser
	}
	a.set()
	return a
}

func (a *aim) set() {
	a.system.Sizes = a.system.Sizes[:0]
	for j, v := range a.norms {
		a.system.Sizes = append(a.system.Sizes, a.goals[j]*v/(2*math.Sqrt(a.o.Ratio)))
	}
}

// look sets the goals from the iterate, unless Options.Tolerance gives them.
func (a *aim) look(at *conjugate.Solution) {
	if a.o.Tolerance > 0 {
		return
	}
	constants := len(a.sums) // the column of the constant
	for j := constants; j < len(a.goals); j++ {
		a.goals[j] = probeGoal
	}
	b := constantsOf(at.X, a.system.Right, constants)
	for j, norm := range a.norms[:constants] {
		if norm == 0 { // the target is a constant
			continue
		}
		sum, fourth := 0.0, 0.0
		for i := range at.X.Rows {
			x, r := at.X.Row(i), at.Residual.Row(i)
			e := (r[j] + a.o.Ratio*x[j] - b[j]*(r[constants]+a.o.Ratio*x[constants])) / norm
			sum += e * e
			fourth += e * e * e * e
		}
		hidden := share * math.Sqrt(max(0, fourth-sum*sum/float64(at.X.Rows)))
		goal := math.Sqrt(sum+hidden) - math.Sqrt(sum)
		a.sums[j] = append(a.sums[j][max(0, len(a.sums[j])-steady):], sum)
		if len(a.sums[j]) > steady && slices.Max(a.sums[j])-slices.Min(a.sums[j]) <= hidden {
			goal = math.Sqrt(hidden)
		}
		// The residual is that of the target less b times that of the constant.
		goal = max(goal/2, leastGoal)
		a.goals[j] = goal
		if b[j] != 0 {
			a.goals[constants] = min(a.goals[constants], max(goal*norm/math.Abs(b[j])/a.norms[constants], leastGoal))
		}
	}
	a.set()
}

// farthest returns the relative residual and the goal of the column whose goal is farthest.
func (a *aim) farthest(at *conjugate.Solution) (residual, goal float64) {
	most := -1.0
	for j, v := range conjugate.Norms(at.Residual) {
		if ratio := v / a.norms[j] / a.goals[j]; v > 0 && ratio > most {
			most, residual, goal = ratio, v/a.norms[j], a.goals[j]
		}
	}
	return residual, goal
}

// rounded reports whether rounding of float64 hides what is left of the residuals.
func (a *aim) rounded(at *conjugate.Solution) bool {
	residuals := conjugate.Norms(at.Residual)
	for j, v := range a.norms {
		if residuals[j] > max(enough, a.goals[j])*v {
			return false
		}
	}
	return at.Stalled && a.o.Tolerance == 0
}
