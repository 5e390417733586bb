package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
)

// tensors returns heads of n tokens with entries of the given size.
func tensors(heads, n, d int, size float64) input {
	normal := distuv.Normal{Sigma: size, Src: exprand.NewSource(9)}
	in := input{rank: 3, title: "test"}
	for range heads {
		var m [3]dense.Matrix[float32]
		for i := range m {
			m[i] = dense.New[float32](n, d)
			for j := range m[i].Data {
				m[i].Data[j] = float32(normal.Rand())
			}
		}
		in.heads = append(in.heads, head{q: m[0], k: m[1], v: m[2]})
	}
	return in
}

func comparisonOf(t *testing.T, s settings, in input) *comparison {
	t.Helper()
	c, err := newComparison(s, in)
	require.NoError(t, err)
	return c
}

// Errors of random features fall by √32 = 5.7 in the limit.
func TestForms(t *testing.T) {
	for _, causal := range []bool{false, true} {
		c := comparisonOf(t, settings{seed: 1, draws: 3, causal: causal, sizes: []int{16, 512}}, tensors(2, 400, 8, 0.4))
		require.Len(t, c.rows, 2*len(formNames)+3)
		rows, references := c.rows[:2*len(formNames)], c.rows[2*len(formNames):]
		for i := 0; i < len(rows); i += 2 {
			assert.Equal(t, formNames[i/2], rows[i].name)
			assert.Equal(t, [2]int{16, 512}, [2]int{rows[i].size, rows[i+1].size})
			assert.Positive(t, rows[i].time)
			assert.Greater(t, rows[i].err, 2.5*rows[i+1].err, "%s, causal %v", rows[i].name, causal)
		}
		for _, r := range references[1:] {
			assert.Greater(t, r.err, 5*rows[1].err, r.name)
		}
	}
}

func TestAverage(t *testing.T) {
	in := tensors(2, 50, 4, 1)
	for _, causal := range []bool{false, true} {
		// Queries of zero give all keys the same weight.
		for _, h := range in.heads {
			clear(h.q.Data)
		}
		rows := comparisonOf(t, settings{causal: causal}, in).rows
		last := rows[len(rows)-1]
		assert.Equal(t, "mean of values", last.name)
		assert.Less(t, last.err, 50*0x1p-24)
	}
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2*time.Second, median([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}))
}
