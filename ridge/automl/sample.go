package automl

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

const (
	sampleRows = 1500 // the largest number of random rows with which Fit chooses
	unseenRows = 500  // the least number of other rows for bands
	exactRows  = 3000 // the largest number of rows with exact kernels if Options does not say
	leastRows  = 10
	// the number of rows of a class with which Fit chooses at least, if there are as many
	classRows = 2

	leastRange, mostRange = 1e-130, 1e130 // of an output: squares of targets are in range
	mostPoint             = 1e300         // in size: knots and differences of a column are in range
)

type trainingSample struct {
	all      ridge.Block[float64] // with weights in the unit
	unit     float64              // of weights
	choose   int                  // the number of rows of all, from the first on, with which Fit chooses
	n        int                  // the number of rows with a weight above 0
	positive bool                 // all targets are above 0, and differ by a factor of 2

	numbers []int // of the rows of all, in the order of reading
}

func draw[T dense.Float](ctx context.Context, rows ridge.Rows[T], o Options, rng *rand.Rand) (trainingSample, error) {
	s := sampler{rng: rng, most: max(exactRows, o.Landmarks), choose: o.choosing(), classes: make([]stratum, o.Classes), ranks: o.ranks(rng)}
	d, p, read := 0, 0, 0
	for b, err := range rows.Blocks() {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			if read == 0 {
				d, p = b.X.Cols, b.Y.Cols
			}
			err = check(b, d, p, o.Classes, read)
		}
		if n := read + b.X.Rows; err == nil && o.Groups != nil && n > len(o.Groups) {
			err = fmt.Errorf("automl: Groups has %d numbers, want one for each row, of which there are at least %d", len(o.Groups), n)
		}
		if err != nil {
			return trainingSample{}, err
		}
		y := dense.Copy(dense.Matrix[float64]{}, b.Y)
		for i := range b.X.Rows {
			if b.Weight(i) > 0 {
				s.add(y.Row(i), func() row {
					x := dense.Copy(dense.Matrix[float64]{}, b.X.RowRange(i, i+1)).Data
					return row{x, slices.Clone(y.Row(i)), b.Weight(i), read + i}
				})
			}
		}
		read += b.X.Rows
	}
	if o.Groups != nil && read < len(o.Groups) {
		return trainingSample{}, fmt.Errorf("automl: Groups has %d numbers, want one for each of %d rows", len(o.Groups), read)
	}
	return s.sample(d, p)
}

// choosing returns the number of random rows with which Fit chooses. Few landmarks need few rows.
func (o Options) choosing() int {
	if o.Landmarks == 0 {
		return sampleRows
	}
	return min(max(500, 5*min(o.Landmarks, sampleRows)), sampleRows)
}

func check[T dense.Float](b ridge.Block[T], d, p, classes, at int) error {
	if d < 1 || p < 1 || classes > 0 && p != 1 {
		return fmt.Errorf("automl: points have %d columns and targets %d, want at least one, and one for classes", d, p)
	}
	err := b.Check(d, p)
	for i := range b.X.Rows {
		if j := slices.IndexFunc(b.X.Row(i), isNaN[T]); j >= 0 {
			return fmt.Errorf("automl: x[%d][%d] = NaN: leave out the row or the column of a missing value, or fill it in and add a column of 0 and 1 that marks it", at+i, j)
		}
		if j := slices.IndexFunc(b.X.Row(i), isLarge[T]); j >= 0 {
			return fmt.Errorf("automl: x[%d][%d] = %v, want at most %v in size: scale the column", at+i, j, b.X.At(i, j), mostPoint)
		}
	}
	for i := range b.Y.Rows {
		if j := slices.IndexFunc(b.Y.Row(i), isNaN[T]); j >= 0 {
			return fmt.Errorf("automl: y[%d][%d] = NaN: leave out the row of a missing value", at+i, j)
		}
	}
	if err != nil && at > 0 {
		err = fmt.Errorf("%w (in the block that begins with row %d)", err, at)
	}
	if err != nil || classes == 0 {
		return err
	}
	for i := range b.Y.Rows {
		if v := float64(b.Y.At(i, 0)); !(v >= 0 && v < float64(classes)) || v != math.Trunc(v) {
			return fmt.Errorf("automl: y[%d][0] = %v is no class, want a whole number from 0 to %d", at+i, v, classes-1)
		}
	}
	return nil
}

func isNaN[T dense.Float](v T) bool { return v != v }

func isLarge[T dense.Float](v T) bool {
	size := math.Abs(float64(v))
	return size > mostPoint && !math.IsInf(size, 1)
}

type row struct {
	x, y   []float64
	weight float64
	number int
}

type sampler struct {
	rng       *rand.Rand
	n, most   int
	choose    int       // the number of random rows with which Fit chooses
	rows      []row     // up to most, at random
	classes   []stratum // empty for numbers
	low, high []row     // of numbers: rows with the least and the largest target of each output
	ranks     []int     // of rows with groups: those of the least ranks are the sample
}

type stratum struct {
	n    int
	rows []row // up to classRows, at random
}

func (s *sampler) add(y []float64, take func() row) {
	s.n++
	if s.ranks == nil {
		s.keep(&s.rows, s.most, s.n, take)
	} else if s.rows = append(s.rows, take()); len(s.rows) == 2*s.most {
		s.cut()
	}
	if len(s.classes) > 0 {
		c := &s.classes[int(y[0])]
		c.n++
		s.keep(&c.rows, classRows, c.n, take)
		return
	}
	if s.low == nil {
		s.low, s.high = slices.Repeat([]row{take()}, len(y)), slices.Repeat([]row{take()}, len(y))
	}
	for j, v := range y {
		if v < s.low[j].y[j] {
			s.low[j] = take()
		} else if v > s.high[j].y[j] {
			s.high[j] = take()
		}
	}
}

func (s *sampler) cut() {
	slices.SortFunc(s.rows, func(a, b row) int { return cmp.Compare(s.ranks[a.number], s.ranks[b.number]) })
	s.rows = s.rows[:min(len(s.rows), s.most)]
}

func (s *sampler) keep(rows *[]row, most, n int, take func() row) {
	if len(*rows) < most {
		*rows = append(*rows, take())
	} else if at := s.rng.IntN(n); at < most {
		(*rows)[at] = take()
	}
}

func (s *sampler) sample(d, p int) (trainingSample, error) {
	if s.n < leastRows {
		return trainingSample{}, fmt.Errorf("automl: %d rows with a weight above 0, want at least %d", s.n, leastRows)
	}
	shuffle := func(rows []row) { s.rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] }) }
	if s.ranks == nil {
		shuffle(s.rows)
	} else {
		s.cut()
	}
	random := min(s.choose, len(s.rows))
	if s.ranks != nil {
		shuffle(s.rows[:random])
		shuffle(s.rows[random:])
	}
	add := s.addOutputs
	if len(s.classes) > 0 {
		add = s.addClasses
	}
	chosen, err := add(slices.Clone(s.rows[:random]))
	if err != nil {
		return trainingSample{}, err
	}
	rest := slices.DeleteFunc(s.rows[random:], func(r row) bool { return contains(chosen[random:], r) })
	if len(chosen) > random {
		shuffle(chosen)
	}
	all := ridge.Block[float64]{X: dense.New[float64](len(chosen)+len(rest), d), Y: dense.New[float64](len(chosen)+len(rest), p)}
	var numbers []int
	for i, r := range slices.Concat(chosen, rest) {
		copy(all.X.Row(i), r.x)
		copy(all.Y.Row(i), r.y)
		all.Weights, numbers = append(all.Weights, r.weight), append(numbers, r.number)
	}
	unit := unitOfWeights(all.Weights)
	for i := range all.Weights {
		all.Weights[i] /= unit
	}
	positive := len(s.low) > 0
	for j, low := range s.low {
		positive = positive && low.y[j] > 0 && s.high[j].y[j] > 2*low.y[j]
	}
	return trainingSample{all: all, unit: unit, choose: len(chosen), n: s.n, positive: positive, numbers: numbers}, nil
}

// unitOfWeights returns the mean of weights, which is finite and exactly w if all are w. New rows
// have the weight 1.
func unitOfWeights(weights []float64) float64 {
	most, sum := slices.Max(weights), 0.0
	for _, w := range weights {
		sum += w / most
	}
	return most * (sum / float64(len(weights)))
}

func contains(rows []row, r row) bool {
	return slices.ContainsFunc(rows, func(other row) bool { return other.number == r.number })
}

// addClasses adds rows of classes that have fewer than classRows of the rows that choose. Weights
// give an added class its share in all rows.
func (s *sampler) addClasses(chosen []row) ([]row, error) {
	random := float64(len(chosen))
	for c, stratum := range s.classes {
		if stratum.n == 0 {
			return nil, fmt.Errorf("automl: class %d of %d has no row with a weight above 0, want at least one", c, len(s.classes))
		}
		var own []int
		for i, r := range chosen {
			if int(r.y[0]) == c {
				own = append(own, i)
			}
		}
		found := len(own)
		for _, r := range stratum.rows {
			if len(own) < classRows && !contains(chosen, r) {
				own, chosen = append(own, len(chosen)), append(chosen, r)
			}
		}
		for _, i := range own {
			if len(own) > found {
				chosen[i].weight *= random * float64(stratum.n) / float64(s.n) / float64(len(own))
			}
		}
	}
	return chosen, nil
}

func (s *sampler) addOutputs(chosen []row) ([]row, error) {
	for j, low := range s.low {
		high := s.high[j]
		switch from, to := low.y[j], high.y[j]; {
		case from == to:
			return nil, fmt.Errorf("automl: output %d is %v in all %d rows, want a target that varies", j, from, s.n)
		case !(to-from >= leastRange && to-from <= mostRange):
			return nil, fmt.Errorf("automl: output %d is from %v to %v, want a range from %v to %v: scale it", j, from, to, leastRange, mostRange)
		}
		differs := func(r row) bool { return r.y[j] != chosen[0].y[j] }
		if !slices.ContainsFunc(chosen, differs) {
			if !differs(low) {
				low = high
			}
			chosen = append(chosen, low)
		}
	}
	return chosen, nil
}
