package automl

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

const noiseRows = 200

// place is where the quantiles of a target lie: the quantile of a score s is centre + unit·s, or,
// for a target that is learnt as a logarithm, centre·(1 + unit·s) for s ≥ 0 and centre·exp(unit·s),
// which is positive, for s < 0.
type place struct {
	centre, unit float64
	logs         bool
}

// leastOfFirst, times the prediction of the first part, is the least centre of logarithms, because
// other parts of a mixture can bring the prediction of the mixture below 0.
const leastOfFirst = 0.25

// placeOf returns the place of a target for the prediction of the mixture, and the prediction and
// the deviation of the first part.
func (b back) placeOf(mixed, first, deviation float64) place {
	if b.Factor == 0 {
		return place{mixed, deviation, false}
	}
	return place{max(mixed, leastOfFirst*first, math.SmallestNonzeroFloat64), deviation, true}
}

func (p place) score(y float64) float64 {
	switch {
	case !p.logs:
		return (y - p.centre) / p.unit
	case y >= p.centre:
		return (y/p.centre - 1) / p.unit
	}
	return math.Log(max(y, math.SmallestNonzeroFloat64)/p.centre) / p.unit
}

func (p place) quantile(score float64) float64 {
	switch {
	case p.logs && math.IsInf(score, -1):
		return 0
	case math.IsInf(score, 0):
		return score // also for a unit of 0
	case !p.logs:
		return p.centre + p.unit*score
	case score >= 0:
		return p.centre * (1 + p.unit*score)
	}
	return p.centre * math.Exp(p.unit*score)
}

// unseen returns rows b with targets y that fits have not seen, the errors of the mixture and the
// predictions of the first part: at rows left out of fits to all rows, if all parts have such
// errors, and otherwise at held-out rows. Errors h at held-out rows, in root mean squares, are
// multiplied by √((σ² + (1 − 1/k)·(h² − σ²))/h²) for k folds and the noise σ² of the fit to all
// rows, in root mean squares of rows with their weights.
func unseen[T dense.Float](s *mixtureSearch, found *choice, t task[T], all []fitted[T]) (b ridge.Block[T], y, errors, first dense.Matrix[float64]) {
	whole := !slices.ContainsFunc(all, func(f fitted[T]) bool { return f.left.Rows == 0 })
	if whole {
		b = all[0].rows
		y, errors = dense.Copy(y, b.Y), dense.New[float64](b.X.Rows, b.Y.Cols)
		for i, v := range y.Data {
			if t.goal.logs {
				y.Data[i] = math.Exp(v)
			}
		}
		for _, f := range all {
			floats.AddScaled(errors.Data, f.Weight, f.left.Data)
		}
		first = y.Clone()
		floats.Sub(first.Data, all[0].left.Data)
		return b, y, errors, first
	}
	wide := s.rows
	wide.X, wide.Y, wide.Weights = moved(t.curves, layout.Rows(wide.X, s.tested)), layout.Rows(wide.Y, s.tested), nil
	noise := 0.0 // the mean over the rows, in units of σ²
	for _, i := range s.tested {
		wide.Weights = append(wide.Weights, s.given[i])
		noise += 1 / s.given[i] / float64(len(s.tested))
	}
	errors = found.heldErrors.Clone()
	for j, h := range meanSquares(errors) {
		v, share := noise*all[0].Model.Noise()[j], 1-1/float64(len(s.folds))
		for i := range errors.Rows {
			if v < h && !t.goal.logs {
				errors.Row(i)[j] *= math.Sqrt((v + share*(h-v)) / h)
			}
		}
	}
	return narrow[T](wide), wide.Y, errors, t.held
}

// withQuantiles returns the scores from which a mixture has quantiles, ascending for each output,
// and the first part with the units of scores, which are half widths of Band. Units are deviations
// of the first part. Unless the first part predicts logarithms, boxes have one unit, because a row
// has a box of its own, and so have groups, because other rows of the group make deviations small.
func withQuantiles[T dense.Float](s *mixtureSearch, found *choice, t task[T], all []fitted[T]) (*ridge.Model[T], dense.Matrix[float64], error) {
	m, none := all[0].Model, dense.Matrix[float64]{}
	b, y, errors, first := unseen(s, found, t, all)
	_, _, deviations, err := reweighted[T]{s.ctx, t.rows, m, cmp.Or(found.Tails, math.Inf(1))}.leaveOut(m, b)
	if err != nil {
		return nil, none, err
	}
	_, boxes := found.kernel.(kernels.Boxes)
	bands := ridge.Bands[T]{Errors: dense.New[float64](1, b.Y.Cols), Relative: t.goal.logs || !boxes && s.Groups == nil}
	for j := range bands.Errors.Data {
		bands.Errors.Data[j] = 1
	}
	found.Bands = map[bool]string{true: relativeBands, false: equalBands}[bands.Relative]
	scores, sizes, places := errors.Clone(), errors.Clone(), make([]place, len(y.Data))
	for i, e := range errors.Data {
		deviation := 1.0
		if bands.Relative {
			deviation = deviations.Data[i]
		}
		places[i] = t.back[i%y.Cols].placeOf(y.Data[i]-e, first.Data[i], deviation)
		scores.Data[i] = places[i].score(y.Data[i])
		sizes.Data[i] = math.Abs(scores.Data[i])
	}
	if s.Groups != nil || found.Ended { // rows of a group tell of each other's noise
	} else if logs, noise, least, ok := noise(s.ctx, m, b, sizes); ok {
		found.Bands, bands.Logs, bands.Least = noiseBands, logs, least
		for i, v := range noise.Data {
			scores.Data[i] /= v
			places[i].unit *= v
		}
	}
	found.assess(s, y, scores, places)
	var sorted []float64
	for j := range scores.Cols {
		sorted = append(sorted, s.sort(scores, j, func(int) bool { return true })...)
	}
	m, err = m.WithBands(bands)
	return m, dense.Of(scores.Cols, len(sorted)/scores.Cols, sorted), err
}

// sort returns the scores of an output at the kept rows in ascending order. Rows of a group have
// errors of one sign, and few groups tell no asymmetry, so that their scores count with both signs.
func (s *mixtureSearch) sort(scores dense.Matrix[float64], output int, keep func(i int) bool) (all []float64) {
	for i := range scores.Rows {
		if v := scores.At(i, output); keep(i) {
			if all = append(all, v); s.Groups != nil {
				all = append(all, -v)
			}
		}
	}
	slices.Sort(all)
	return all
}

// quantile returns the quantile of a new score from n sorted scores: the score of rank ⌊level·(n +
// 1)⌋ below the level ½, of rank ⌈level·(n + 1)⌉ above, and the mean of both at ½. For a level
// without such a rank, but of at least ½/(n + 1) from 0 and 1, the quantile is the largest size of
// all scores with the sign of the tail. For other levels, the quantile is ±Inf. The quantile is at
// most 0 up to the level 0.1, and at least 0 from 0.9 on: if most targets are one number, fits to
// all rows are nearer to the number than fits whose errors are the scores.
func quantile(sorted []float64, level float64) float64 {
	switch own := rankOf(sorted, level); {
	case level <= 0.1:
		return min(own, 0)
	case level >= 0.9:
		return max(own, 0)
	default:
		return own
	}
}

func rankOf(sorted []float64, level float64) float64 {
	n := len(sorted)
	at := level * float64(n+1)
	// Rounding of the level and of the product changes no rank.
	low, high := int(math.Floor(at*(1+0x1p-51))), int(math.Ceil(at*(1-0x1p-51)))
	sign := math.Copysign(1, level-0.5)
	switch {
	case low >= 1 && high <= n && level == 0.5:
		return (sorted[low-1] + sorted[high-1]) / 2
	case low >= 1 && level < 0.5:
		return sorted[low-1]
	case high <= n && level > 0.5:
		return sorted[high-1]
	case min(at, float64(n+1)-at)*(1+0x1p-50) >= 0.5:
		return sign * max(math.Abs(sorted[0]), math.Abs(sorted[n-1]))
	}
	return math.Inf(int(sign))
}

// noise learns the logarithms of the errors at the rows, with the map of m. It returns the noise at
// each row, learnt without the row, the least logarithms of this noise, and whether the squares of
// log-errors about their means fall by more than two standard errors.
func noise[T dense.Float](ctx context.Context, m *ridge.Model[T], rows ridge.Block[T], errors dense.Matrix[float64]) (logs *ridge.Model[T], noise dense.Matrix[float64], least []float64, ok bool) {
	if errors.Rows < noiseRows {
		return nil, noise, nil, false
	}
	y, noise := dense.New[T](errors.Rows, errors.Cols), errors.Clone()
	squares := meanSquares(errors)
	for i := range y.Rows {
		for j, v := range errors.Row(i) {
			y.Set(i, j, T(math.Log(v+1e-3*math.Sqrt(squares[j]))))
		}
	}
	rows.Y = y
	logs, err := regress(ctx, m.Map(), rows, 0)
	if err != nil {
		return nil, noise, nil, false
	}
	rest := dense.New[T](y.Rows, y.Cols)
	for lo, hi := range interrupt.Ranges(ctx, y.Rows, patience*runtime.GOMAXPROCS(0)) {
		part := rows.RowRange(lo, hi)
		if _, err := logs.LeaveOneOut(rest.RowRange(lo, hi), part.X, part.Y, part.Weights); err != nil {
			return nil, noise, nil, false
		}
	}
	level := dense.Copy(dense.Matrix[float64]{}, y)
	centre(level, slices.Repeat([]float64{1}, errors.Rows))
	gains := make([]float64, errors.Rows)
	least = slices.Repeat([]float64{math.Inf(1)}, errors.Cols)
	for i := range gains {
		gains[i] = meanSquare(level.Row(i))
		for j, v := range rest.Row(i) {
			gains[i] -= float64(v) * float64(v) / float64(errors.Cols)
			noise.Set(i, j, math.Exp(float64(y.At(i, j)-v)))
			least[j] = min(least[j], float64(y.At(i, j)-v))
		}
	}
	mean, sd := stat.MeanStdDev(gains, nil)
	return logs, noise, least, mean > 2*sd/math.Sqrt(float64(len(gains)))
}

func meanSquares(x dense.Matrix[float64]) []float64 {
	columns := dense.Transpose(dense.Matrix[float64]{}, x)
	squares := make([]float64, x.Cols)
	for j := range squares {
		squares[j] = meanSquare(columns.Row(j))
	}
	return squares
}

// levels are those of the quantiles of which a score is the mean.
var levels = []float64{0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95}

// assess sets the coverage of bands of 90 % and the CRPS. The quantiles of each twentieth of the
// rows come from the scores of the other rows.
func (c *choice) assess(s *mixtureSearch, y, scores dense.Matrix[float64], places []place) {
	const parts = 20
	for j := range scores.Cols {
		for k := range parts {
			others := s.sort(scores, j, func(i int) bool { return i%parts != k })
			for i := k; i < scores.Rows; i += parts {
				at, v, share := places[i*y.Cols+j], y.At(i, j), 1/float64(len(y.Data))
				if at.quantile(quantile(others, 0.05)) <= v && v <= at.quantile(quantile(others, 0.95)) {
					c.Coverage += share
				}
				for _, level := range levels {
					e := v - at.quantile(quantile(others, level))
					loss := 2 * share / float64(len(levels)) * max(level*e, (level-1)*e)
					if y.Cols > 1 {
						loss /= s.goals[0].unit[j]
					}
					c.CRPS += loss
				}
			}
		}
	}
}
