package main

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/rff"
)

// rhyme is a text that is easy to learn.
var rhyme = strings.Repeat("the sun is light, the light is sun; ", 30)

func learns[T dense.Float](t *testing.T) {
	c, err := newCorpus(rhyme, 16)
	require.NoError(t, err)
	s := settings{steps: 120, batch: 4, context: 16, redraw: 20}
	for name, form := range testForms[T](8) {
		m, err := newModel(shape{symbols: len(c.symbols), context: 16, blocks: 2, width: 16, heads: 2}, form, exprand.NewSource(1))
		require.NoError(t, err)
		tr := training[T]{name: name, model: m}
		if name == "positive" {
			src := exprand.NewSource(2)
			tr.redraw = func() (rff.Map[T], error) { return features[T](name, 16, 8, src) }
		}
		require.NoError(t, tr.run(c, s, rand.New(exprand.NewSource(3)), progress.Bar{}))
		assert.Equal(t, 120, tr.steps)
		assert.InDelta(t, math.Log(float64(len(c.symbols))), tr.curve[0].training, 0.1, "%s: nearly uniform at first", name)
		assert.Less(t, tr.loss, 0.6*c.entropy(), name)
		assert.Less(t, tr.curve[len(tr.curve)-1].training, 0.6*c.entropy(), name)
		assert.Len(t, m.continuation(c.heldOut[:3], 40, rand.New(exprand.NewSource(4))), 40, "beyond the context")
	}
}

// TestCurveOfFewSteps: a point is the mean of the losses since the last, also where every
// step makes one.
func TestCurveOfFewSteps(t *testing.T) {
	c, err := newCorpus(rhyme, 16)
	require.NoError(t, err)
	for _, steps := range []int{1, 3, evaluations} {
		m, err := newModel(shape{symbols: len(c.symbols), context: 4, blocks: 1, width: 4, heads: 1}, testForms[float64](4)["exact"], exprand.NewSource(1))
		require.NoError(t, err)
		tr := training[float64]{model: m}
		require.NoError(t, tr.run(c, settings{steps: steps, batch: 1, context: 4}, rand.New(exprand.NewSource(2)), progress.Bar{}))
		assert.Len(t, tr.curve, steps)
		for i, p := range tr.curve {
			assert.Positive(t, p.training, "%d steps, point %d", steps, i)
		}
	}
}

func TestLearns(t *testing.T) {
	t.Run("type=float32", learns[float32])
	t.Run("type=float64", learns[float64])
}

func TestRedrawNeedsFeatures(t *testing.T) {
	m, err := newModel(tiny, testForms[float64](4)["exact"], exprand.NewSource(1))
	require.NoError(t, err)
	err = m.redraw(func() (rff.Map[float64], error) {
		return features[float64]("elu", 0, 4, nil)
	})
	assert.ErrorContains(t, err, "has no features to redraw")
}

func TestRate(t *testing.T) {
	assert.Zero(t, rate(0))
	assert.InDelta(t, peakRate/2, rate(warmUp/2), 1e-5)
	assert.InDelta(t, peakRate/2, rate(0.5), 1e-15)
	assert.InDelta(t, 0, rate(1), 1e-15)
}

func own(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rhyme.txt")
	require.NoError(t, os.WriteFile(path, []byte(rhyme), 0o600))
	return path
}

func TestRun(t *testing.T) {
	path := own(t)
	t.Chdir(t.TempDir())
	quick := []string{"-text", path, "-batch", "2", "-context", "16", "-length", "20"}
	out := clitest.Output(t, run, append(quick, "-steps", "3")...)
	for _, want := range []string{
		path + ": 1080 characters, 12 different ones; the last 108 are held out", "elu+1 features",
		"4 blocks, width 128", "linear         3", "exact          3", "none *", "held-out loss", "is in charmodel.png",
	} {
		assert.Contains(t, out, want)
	}
	assert.FileExists(t, "charmodel.png")
	out = clitest.Output(t, run, append(quick, "-seconds", "0.05", "-map", "positive", "-m", "8", "-redraw", "1", "-plot", "a.svg")...)
	assert.Contains(t, out, "8 positive random features of exp(qᵀk/√d), orthogonal frequencies, redrawn every 1 steps")
	assert.FileExists(t, "a.svg")
}

// TestSameForSameSeed: the learnt texts are, if the number of steps is.
func TestSameForSameSeed(t *testing.T) {
	path := own(t)
	t.Chdir(t.TempDir())
	text := func(seed string) string {
		out := clitest.Output(t, run, "-text", path, "-batch", "1", "-context", "8", "-steps", "2", "-length", "30", "-seed", seed)
		_, after, ok := strings.Cut(out, "The held-out text begins")
		require.True(t, ok)
		return after
	}
	first := text("5")
	assert.Equal(t, first, text("5"))
	assert.NotEqual(t, first, text("6"))
}

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	for _, want := range []string{"character-level", "-seconds", "-redraw", "elu"} {
		assert.Contains(t, out, want)
	}
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	path := own(t)
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-text", path}, path + ": the text has 1080 characters, want at least 1290"},
		{[]string{"-batch", "1000", "-context", "128"}, "-batch 1000, want at most 512 sequences of 128, which have 65536 characters"},
		{[]string{"stray"}, `unexpected argument "stray"`},
	} {
		err := run(c.args, io.Discard, io.Discard)
		assert.ErrorContains(t, err, c.want, "%v", c.args)
	}
	assert.NoFileExists(t, "charmodel.png", "errors come before any output")
}
