package quantise

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/argument"
)

func (c *codes[T]) Within(ctx context.Context, query *Query, limit float64, o SearchOptions[T]) ([]Hit, error) {
	if err := argument.Context("quantise", ctx); err != nil {
		return nil, err
	}
	switch {
	case o.Centres < 0:
		return nil, errCentres(o.Centres)
	case !c.q.prepared(query):
		return nil, errors.New("quantise: the query is not prepared by the quantiser")
	case query.z == 0:
		return nil, errors.New("quantise: Within for a query with the miss probability 0, want above 0")
	case limit != limit:
		return nil, errors.New("quantise: limit is NaN")
	}
	s := c.q.begin(c.rows(), query.by)
	defer s.end()
	s.ctx, s.options, s.secondPass = ctx, o, true
	s.addQuery(query, 1)
	x := s.queries[0]
	x.zExact, x.least = query.z, scoredRow{score: query.leastScore(limit, c.q.centres != nil), row: math.MaxInt}
	s.run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(x.possible, func(a, b scoredRow) int { return cmp.Compare(a.row, b.row) })
	hits := make([]Hit, len(x.possible))
	if o.Rows != nil {
		x.exact, x.k = x.exact[:0], len(hits)
		for from := 0; from < x.k; from += readRows {
			if err := s.read(x, *vectorOf[T](query), x.possible[from:min(from+readRows, x.k)]); err != nil {
				return nil, err
			}
		}
		hits = hits[:0]
		for _, c := range x.exact {
			v := query.exactValue(c.score)
			if v >= limit && query.by != SquaredDistance || v <= limit && query.by == SquaredDistance {
				hits = append(hits, Hit{c.row, Estimate{Value: v, Low: v, High: v}})
			}
		}
	} else {
		ids, estimates := make([]int, len(hits)), make([]Estimate, len(hits))
		for i, c := range x.possible {
			ids[i] = c.row
		}
		for i, e := range c.Estimates(estimates, query, ids) {
			hits[i] = Hit{ids[i], e}
		}
	}
	sortHits(hits, query.by)
	return hits, nil
}

func (x *Query) leastScore(limit float64, centred bool) float64 {
	score, size, square := limit, math.Abs(limit), float64(x.norm*x.norm)
	switch {
	case x.by == SquaredDistance && limit < 0: // no row is as near, but an estimate may be below 0
		return math.Inf(1)
	case x.by == SquaredDistance && (centred || math.IsInf(limit, 0)):
		score = -limit
	case x.by == SquaredDistance:
		score, size = square-limit, square+size
	case x.by == InnerProduct && !centred && x.norm > 0:
		score = limit / x.norm
		size = math.Abs(score)
	}
	if math.IsInf(score, 0) {
		return score
	}
	return score - float64(roundings*size)
}
