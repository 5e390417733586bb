package quantise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const readRows = 64

// readExact reads the rows with the best estimates, and then the rows that may rank above them.
func (s *search[T]) readExact(hits [][]Hit) error {
	s.run()
	for _, x := range s.queries {
		x.exact, x.least, x.best = x.exact[:0], scoredRow{score: math.Inf(1)}, cut(x.best, x.k)
		if err := s.read(x, *vectorOf[T](x.Query), x.best); err != nil {
			return err
		}
		if x.k > 0 && len(x.exact) == x.k {
			x.least = s.least(x, *vectorOf[T](x.Query))
		}
	}
	s.secondPass = true
	s.run()
	for i, x := range s.queries {
		if err := s.readPossible(x, *vectorOf[T](x.Query)); err != nil {
			return err
		}
		if x.norm != x.norm {
			hits[i] = s.write(x, hits[i])
			continue
		}
		hits[i] = hits[i][:len(x.exact)]
		for j, c := range x.exact {
			e := Estimate{Value: x.exactValue(c.score)}
			if x.z > 0 {
				e.Low, e.High = e.Value, e.Value
			}
			hits[i][j] = Hit{ID: c.row, Estimate: e}
		}
		sortHits(hits[i], s.by)
	}
	return s.ctx.Err()
}

// readPossible reads the rows of x.possible whose upper bounds are not worse than the worst exact
// value.
func (s *search[T]) readPossible(x *ranking, y []T) error {
	slices.SortFunc(x.possible, func(a, b scoredRow) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	for left := x.possible; len(left) > 0 && !left[0].worse(x.least); {
		n := 1
		for n < min(readRows, len(left)) && !left[n].worse(x.least) {
			n++
		}
		if err := s.read(x, y, left[:n]); err != nil {
			return err
		}
		left, x.least = left[n:], s.least(x, y)
	}
	return nil
}

// least returns the worst of k exact rows, with the score that Query.score estimates.
func (s *search[T]) least(x *ranking, y []T) scoredRow {
	worst, norm := x.exact[x.k-1], math.Sqrt(2*vecmath.HalfSquaredNorm(y))
	switch {
	case s.q.centres != nil:
	case s.by == SquaredDistance:
		worst.score += float64(norm * norm * (1 - sumRoundings))
	case s.by == InnerProduct && norm > 0:
		worst.score /= norm
	}
	return worst
}

func (s *search[T]) read(x *ranking, y []T, some []scoredRow) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if len(some) == 0 {
		return nil
	}
	slices.SortFunc(some, func(a, b scoredRow) int { return cmp.Compare(a.row, b.row) })
	s.rowIDs = s.rowIDs[:0]
	for _, c := range some {
		s.rowIDs = append(s.rowIDs, c.row)
	}
	s.rowData = scratch.Resize(s.rowData, len(some)*len(y))
	rows := dense.Of(len(some), len(y), s.rowData)
	if err := s.options.Rows(rows, s.rowIDs); err != nil {
		return err
	}
	for i, c := range some {
		row := rows.Row(i)
		value := exactly(s.by, row, y)
		if value != value || math.IsInf(value, 0) {
			return fmt.Errorf("quantise: row %d that Rows read holds NaN or ±Inf, or overflows", c.row)
		}
		x.exact = keep(x.exact, scoredRow{score: value, row: c.row}, x.k)
	}
	x.exact = cut(x.exact, x.k)
	return nil
}

func (x *Query) exactValue(score float64) float64 {
	if x.by == SquaredDistance {
		return -score
	}
	return score
}
