package main

import (
	"bytes"
	"image"
	_ "image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search.png")
	args := []string{"-evaluations", "12", "-frequencies", "20", "-candidates", "100", "-plot", path}
	var b, again bytes.Buffer
	require.NoError(t, run(args, &b))
	require.NoError(t, run(args, &again))
	assert.Equal(t, b.String(), again.String())
	assert.Contains(t, b.String(), path)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	_, kind, err := image.DecodeConfig(f)
	require.NoError(t, err)
	assert.Equal(t, "png", kind)
}

// The maximum is at three places, and nothing on a fine grid is above.
func TestMaximum(t *testing.T) {
	for _, place := range [][2]float64{{-math.Pi, 12.275}, {math.Pi, 2.275}, {3 * math.Pi, 2.475}} {
		assert.InDelta(t, maximum, truth((place[0]+5)/15, place[1]/15), 1e-9)
	}
	for i := range 300 {
		for j := range 300 {
			require.LessOrEqual(t, truth(float64(i)/300, float64(j)/300), maximum)
		}
	}
}

// Fifty evaluations come ten times as close to the maximum as the mean of random searches.
func TestSearchFindsTheMaximum(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole search")
	}
	s := settings{evaluations: 50, start: 6, candidates: 2000, frequencies: 64, noise: 0.1}
	h, err := s.maximise(exprand.NewSource(3))
	require.NoError(t, err)
	random := randomSearch(50, exprand.NewSource(1))
	t.Logf("%.3f below, random %.3f", maximum-h.best(50), maximum-random[49])
	assert.Less(t, 10*(maximum-h.best(50)), maximum-random[49])
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-evaluations 6": "-evaluations 6, want more than the 6 of -start",
		"more":           `unexpected argument "more"`,
	} {
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard), want)
	}
	assert.Contains(t, clitest.Output(t, run, "-h"), "Branin")
}
