package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// tops and windows are the numbers of keys whose weight is summed.
var (
	tops    = [...]int{16, 64, 256}
	windows = [...]int{64, 128}
)

// statistics say what kind of attention a head has. Means are over the queries of the second half
// of a sequence, which see at least half of the keys.
type statistics struct {
	query, key, longest float64 // mean ‖q‖ and ‖k‖, largest ‖k‖
	low, high           float64 // the least and the largest logit q·k/√d
	spread              float64 // standard deviation of the logits of a query, mean
	entropy             float64 // of the weights of a query, in nats, mean
	top                 [len(tops)]float64
	window              [len(windows)]float64
}

// statisticsOf returns the statistics of causal attention of queries over keys.
func statisticsOf(q, k dense.Matrix[float32]) statistics {
	s := statistics{low: math.Inf(1), high: math.Inf(-1)}
	for i := range k.Rows {
		s.query += norm(q.Row(i)) / float64(k.Rows)
		s.key += norm(k.Row(i)) / float64(k.Rows)
		s.longest = max(s.longest, norm(k.Row(i)))
	}
	first := k.Rows / 2
	queries := float64(k.Rows - first)
	weights := make([]float64, k.Rows)
	for i := first; i < k.Rows; i++ {
		s.add(q.Row(i), k.RowRange(0, i+1), weights[:i+1], queries)
	}
	return s
}

// add adds one of n queries. weights is memory for a number a key.
func (s *statistics) add(q []float32, keys dense.Matrix[float32], weights []float64, n float64) {
	scale := 1 / math.Sqrt(float64(len(q)))
	var mean, square float64
	for j := range weights {
		w := scale * dot(q, keys.Row(j))
		weights[j] = w
		mean += w / float64(len(weights))
		square += w * w / float64(len(weights))
	}
	high := slices.Max(weights)
	s.low, s.high = min(s.low, slices.Min(weights)), max(s.high, high)
	s.spread += math.Sqrt(max(square-mean*mean, 0)) / n
	var sum float64
	for j, w := range weights {
		weights[j] = math.Exp(w - high)
		sum += weights[j]
	}
	var entropy float64
	for j := range weights {
		weights[j] /= sum
		if w := weights[j]; w > 0 {
			entropy -= w * math.Log(w)
		}
	}
	s.entropy += entropy / n
	for i, w := range windows {
		s.window[i] += total(weights[max(0, len(weights)-w):]) / n
	}
	slices.Sort(weights)
	for i, t := range tops {
		s.top[i] += total(weights[max(0, len(weights)-t):]) / n
	}
}

func dot(x, y []float32) (s float64) {
	for i, v := range x {
		s += float64(v) * float64(y[i])
	}
	return s
}

func norm(x []float32) float64 { return math.Sqrt(dot(x, x)) }

func total(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// printHeads prints the statistics of all heads in the first sequence that m has read last.
func printHeads(w io.Writer, m *lm.Model, length int) error {
	all := make([]statistics, m.Layers*m.Heads)
	var done sync.WaitGroup
	for i := range all {
		done.Go(func() {
			q, k, _ := m.Head(i/m.Heads, i%m.Heads)
			all[i] = statisticsOf(q.RowRange(0, length), k.RowRange(0, length))
		})
	}
	done.Wait()
	fmt.Fprintf(w, "Heads in a sequence of %d tokens. Spread, entropy (nats) and shares of the weight (%%) are means over its second half.\n\n", length)
	t := table.New(1, "head", "|q|", "|k|", "max |k|", "logits from", "to", "spread", "entropy",
		"top 16", "top 64", "top 256", "last 64", "last 128")
	for i, s := range all {
		cells := []string{fmt.Sprintf("%d.%d", i/m.Heads, i%m.Heads)}
		for _, v := range []float64{s.query, s.key, s.longest, s.low, s.high, s.spread, s.entropy} {
			cells = append(cells, fmt.Sprintf("%.2f", v))
		}
		for _, share := range slices.Concat(s.top[:], s.window[:]) {
			cells = append(cells, fmt.Sprintf("%.1f", 100*share))
		}
		t.Row(cells...)
	}
	return t.Fprint(w)
}
