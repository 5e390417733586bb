package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

func TestRun(t *testing.T) {
	var first, second bytes.Buffer
	require.NoError(t, run([]string{"-n", "8"}, &first))
	assert.Equal(t, 2*len(dimensions), strings.Count(first.String(), "×\n"), "a row for each dimension and width")
	require.NoError(t, run([]string{"-n", "8"}, &second))
	assert.Equal(t, first.String(), second.String())
	second.Reset()
	require.NoError(t, run([]string{"-n", "8", "-seed", "2"}, &second))
	assert.NotEqual(t, first.String(), second.String())
}

func TestPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.svg")
	out := clitest.Output(t, run, "-n", "4", "-plot", path)
	assert.Contains(t, out, "is in "+path)
	svg, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, want := range []string{"4 bits, rotated", "all but the large ones", "dimension d"} {
		assert.Contains(t, string(svg), want)
	}
}

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	assert.Contains(t, out, "quantises vectors")
	assert.Contains(t, out, "-factor")
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-bits 3": "flag provided but not defined: -bits",
	} {
		assert.ErrorContains(t, run(strings.Fields(args), io.Discard), want)
	}
	assert.EqualError(t, run([]string{"-n", "2"}, clitest.Full{}), "disk full")
}

// With b bits and step s the rounding error of a coordinate is at most s/2.
func TestQuantise(t *testing.T) {
	x := dense.Of(3, 4, []float32{7, 3.4, -7, -0.6, 0, 0, 0, 0, 127, 1.5, 2.5, -1})
	four, eight := x.Clone(), x.Clone()
	quantise(four, 4)
	assert.Equal(t, []float32{7, 3, -7, -1, 0, 0, 0, 0}, four.Data[:8], "7 levels a side, ties to even")
	quantise(eight, 8)
	assert.Equal(t, []float32{127, 2, 2, -1}, eight.Row(2))
}

func TestDistance(t *testing.T) {
	x := dense.Of(1, 3, []float32{3, 4, 12})
	y := dense.Of(1, 3, []float32{3, 5, 0})
	assert.Equal(t, relative{all: math.Sqrt(145) / 13, other: 0.2}, distance(y, x, []bool{false, false, true}))
}

// The rotation lowers the step by much more than rounding noise, whether d is
// a power of two or not; without outliers there is nothing to gain.
func TestRotationGains(t *testing.T) {
	for _, d := range []int{256, 768} {
		rows, err := settings{vectors: 50, outliers: 4, factor: 30}.compare(d, exprand.NewSource(3))
		require.NoError(t, err)
		for _, r := range rows {
			assert.Greater(t, r.unrotated.all, 2*r.rotated.all, "d = %d, %d bits", d, r.bits)
			assert.Greater(t, r.unrotated.other, 2*r.rotated.other, "d = %d, %d bits", d, r.bits)
		}
	}
	rows, err := settings{vectors: 50, factor: 30}.compare(256, exprand.NewSource(3))
	require.NoError(t, err)
	assert.InEpsilon(t, rows[0].unrotated.all, rows[0].rotated.all, 0.2)
	assert.Equal(t, rows[0].unrotated.all, rows[0].unrotated.other)
}
