package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/npy"
)

// withoutTimes drops the last column of the table of searches.
func withoutTimes(out string) string {
	return regexp.MustCompile(`(?m) +\d+$`).ReplaceAllString(out, "")
}

func TestClusters(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"-rows", "2000", "-dim", "32", "-queries", "20"}
	out := clitest.Output(t, run, args...)
	row := func(search string) (recall float64, vectors int) {
		_, row, found := strings.Cut(out, "\n"+search+"  ")
		require.True(t, found, search)
		_, err := fmt.Sscan(row, &recall, &vectors)
		require.NoError(t, err)
		return recall, vectors
	}
	recall, vectors := row("float32, by gonum")
	assert.Equal(t, 1.0, recall)
	assert.Equal(t, 1980, vectors)
	for _, bits := range widths {
		alone, none := row(fmt.Sprintf("codes of %d bits", bits))
		recall, read := row(fmt.Sprintf("codes of %d bits, exact rows", bits))
		assert.LessOrEqual(t, alone, recall)
		assert.Zero(t, none)
		assert.Greater(t, recall, 0.99, "the miss probability")
		assert.Less(t, read, vectors, "wider codes leave fewer rows in doubt")
		vectors = read
	}
	assert.Contains(t, out, "is in search.png")
	info, err := os.Stat("search.png")
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(1000))
	assert.Equal(t, withoutTimes(out), withoutTimes(clitest.Output(t, run, args...)))
}

// file writes normal variates as a NumPy file.
func file(t *testing.T, shape ...int) string {
	t.Helper()
	n := 1
	for _, v := range shape {
		n *= v
	}
	rng, data := rand.New(rand.NewPCG(1, 1)), make([]float32, n)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	path := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, npy.WriteFile(path, data, shape...))
	return path
}

func TestFile(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "x.svg")
	out := clitest.Output(t, run, "-x", file(t, 300, 24), "-queries", "10", "-k", "3", "-plot", plot)
	assert.Contains(t, out, "290 vectors to search, d = 24; 10 queries")
	assert.Contains(t, out, "recall@3")
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"want n×d": {"-x", file(t, 2, 3, 4)},
		"-queries 10000, with cosines of all 300000 vectors: 11.2 GiB of memory, want at most 8": {"-x", file(t, 300_000, 1), "-queries", "10000"},
		"300 vectors, want at least 301 for 291 queries that find 10":                            {"-x", file(t, 300, 8), "-queries", "291"},
		"9 vectors, want at least 110 for 100 queries that find 10":                              {"-rows", "9"},
		"flag provided but not defined: -bits (-h describes the flags)":                          {"-bits", "2"},
	} {
		assert.ErrorContains(t, run(args, io.Discard), want)
	}
}

func TestHelp(t *testing.T) {
	assert.Contains(t, clitest.Output(t, run, "-h"), "searches them by cosine")
}

func TestBest(t *testing.T) {
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5}
	assert.Equal(t, []int{5}, best(values, 1))
	assert.Equal(t, []int{5, 7, 4, 8, 2}, best(values, 5), "equal values in their order")
	assert.Equal(t, []int{5, 7, 4, 8, 2, 0, 6, 1, 3}, best(values, 9))
}

// Measurements agree with theory on vectors that are uniform.
func TestTheory(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	x := dense.New[float32](1100, 64)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	c := newComparison(settings{queries: 100, k: 10, seed: 1}, x)
	assert.InDelta(t, 1, c.recall(3, c.nearest[3]), 1e-12)
	assert.Zero(t, c.recall(3, []int{-1}))
	rows, err := c.measure(io.Discard)
	require.NoError(t, err)
	for _, r := range rows {
		assert.InEpsilon(t, r.byTheory, r.rms, 0.05, "%v", r.codes.Quantiser().Options())
		// A thousand places of nearest rows; those of a query go together.
		assert.InDelta(t, r.expected, r.recall, 0.08, "%v", r.codes.Quantiser().Options())
	}
}
