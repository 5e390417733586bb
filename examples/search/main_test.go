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

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/npy"
)

// withoutTimes drops the last column of the table of searches.
func withoutTimes(out string) string {
	return regexp.MustCompile(`(?m) +(\d+|µs|--+)$`).ReplaceAllString(out, "")
}

func TestClusters(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"-rows", "2000", "-dim", "32", "-queries", "20"}
	out := clitest.Output(t, run, args...)
	before := 0.0
	for _, bits := range widths {
		row := func(kind string) (bytes int, recall, missed float64) {
			_, row, found := strings.Cut(out, fmt.Sprintf("\n%-14s  %4v  ", kind, bits))
			require.True(t, found, "%s of %v bits", kind, bits)
			_, err := fmt.Sscan(row, &bytes, &recall, &missed)
			require.NoError(t, err)
			assert.Less(t, missed, 0.01, "the miss probability")
			return bytes, recall, missed
		}
		bytes, recall, _ := row("codes")
		_, exact, _ := row("codes and rows")
		assert.Less(t, bytes, 60, "float32 vectors have 128")
		assert.Greater(t, recall, before-0.05)
		assert.Greater(t, exact, 0.99, "the miss probability")
		before = recall
	}
	assert.Contains(t, out, "is in search.png")
	info, err := os.Stat("search.png")
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(1000))
	assert.Equal(t, withoutTimes(out), withoutTimes(clitest.Output(t, run, args...)))
}

// file writes normal variates as a NumPy file, and shifted writes variates with a mean.
func file(t *testing.T, shape ...int) string { return shifted(t, 0, shape...) }

func shifted(t *testing.T, mean float64, shape ...int) string {
	t.Helper()
	n := 1
	for _, v := range shape {
		n *= v
	}
	rng, data := rand.New(rand.NewPCG(1, 1)), make([]float32, n)
	for i := range data {
		data[i] = float32(mean + rng.NormFloat64())
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

func TestCodes(t *testing.T) {
	for _, mean := range []float64{0, 1e4} {
		x := shifted(t, mean, 600, 24)
		out := clitest.Output(t, run, "-x", x, "-q", x, "-k", "3", "-codes")
		assert.Contains(t, out, "600 vectors to search, d = 24; 600 queries")
		rows := regexp.MustCompile(`(?m)^(Learn|New) +\d+ +\d+ +(\S+) +\S+ +(\S+)$`).FindAllStringSubmatch(out, -1)
		require.Len(t, rows, 9, out)
		for _, row := range rows {
			var recall, law float64
			_, err := fmt.Sscan(row[2]+" "+row[3], &recall, &law)
			require.NoError(t, err)
			if row[1] == "Learn" || mean == 0 {
				assert.InDelta(t, 1, law, 0.1, "mean %v: %v", mean, row)
				assert.Greater(t, recall, 0.3)
			}
		}
	}
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"want n×d": {"-x", file(t, 2, 3, 4)},
		"-queries 10000, with cosines of all 290000 vectors: 10.8 GiB of memory, want at most 8": {"-x", file(t, 300_000, 1), "-queries", "10000"},
		"300 vectors, want at least 301 for 291 queries that find 10":                            {"-x", file(t, 300, 8), "-queries", "291"},
		"9 vectors, want at least 110 for 100 queries that find 10":                              {"-rows", "9"},
		"is 3×5, and the vectors are 300×8; want one d and at least -k 10 vectors":               {"-x", file(t, 300, 8), "-q", file(t, 3, 5)},
		"flag provided but not defined: -bits (-h describes the flags)":                          {"-bits", "2"},
	} {
		assert.ErrorContains(t, run(args, io.Discard), want)
	}
}

func TestHelp(t *testing.T) {
	assert.Contains(t, clitest.Output(t, run, "-h"), "searches the indexes by cosine")
}

func TestBest(t *testing.T) {
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5}
	assert.Equal(t, []int64{5}, best(values, 1))
	assert.Equal(t, []int64{5, 7, 4, 8, 2}, best(values, 5), "equal values in their order")
	assert.Equal(t, []int64{5, 7, 4, 8, 2, 0, 6, 1, 3}, best(values, 9))
}
