package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
)

// small are flags that keep a run short.
func small(args ...string) []string {
	return append([]string{"-draws", "2", "-size", "4,16"}, args...)
}

// count returns the lines of the table that begin with a form.
func count(out string) (n int) {
	for _, form := range formNames {
		n += strings.Count(out, "\n"+form+" ")
	}
	return n
}

func TestHelp(t *testing.T) {
	out := clitest.Output(t, run, "-h")
	for _, want := range []string{"softmax(QKᵀ/√d)", "-causal", "-size", "-tolerance"} {
		assert.Contains(t, out, want)
	}
}

// save writes a tensor of small normal numbers and returns its path.
func save[T dense.Float](t *testing.T, dir, name string, shape ...int) string {
	t.Helper()
	n := 1
	for _, s := range shape {
		n *= s
	}
	data := make([]T, n)
	normal := distuv.Normal{Sigma: 0.4, Src: exprand.NewSource(uint64(len(name) + n))}
	for i := range data {
		data[i] = T(normal.Rand())
	}
	path := filepath.Join(dir, name+".npy")
	require.NoError(t, npy.WriteFile(path, data, shape...))
	return path
}

func ownTensors[T dense.Float](t *testing.T) {
	const heads, lq, lk, d, dv = 2, 30, 40, 8, 5
	for _, rank := range []int{2, 3} {
		dir := t.TempDir()
		shape := func(r, c int) []int { return []int{heads, r, c}[3-rank:] }
		if rank == 2 {
			shape = func(r, c int) []int { return []int{r, c} }
		}
		q := save[T](t, dir, "q", shape(lq, d)...)
		k := save[T](t, dir, "keys", shape(lk, d)...)
		v := save[T](t, dir, "values", shape(lk, dv)...)
		out := filepath.Join(dir, "out.npy")
		printed := clitest.Output(t, run, small("-q", q, "-k", k, "-v", v, "-o", out, "-tolerance", "0.05", "-plot", filepath.Join(dir, "a.png"))...)
		assert.Equal(t, len(formNames), count(printed))
		assert.Contains(t, printed, "These outputs are in "+out)
		assert.Contains(t, printed, "40 keys")

		got, written, err := matrices.Read(out)
		require.NoError(t, err)
		assert.Equal(t, shape(lq, dv), written)
		var exact []dense.Matrix[float32]
		var estimate []dense.Matrix[float32]
		var tensors [3]dense.Tensor[float32]
		for i, path := range []string{q, k, v} {
			tensors[i], _, err = matrices.Read(path)
			require.NoError(t, err)
		}
		e, err := performer.NewExact[float32](performer.ExactOptions{})
		require.NoError(t, err)
		for h := range got.Heads {
			estimate = append(estimate, dense.Head(got, 0, h))
			exact = append(exact, e.Forward(dense.Matrix[float32]{}, dense.Head(tensors[0], 0, h), dense.Head(tensors[1], 0, h), dense.Head(tensors[2], 0, h)))
		}
		rel := matrices.Distance(estimate, exact)
		assert.LessOrEqual(t, rel, 0.05)
		assert.Contains(t, printed, fmt.Sprintf("Measured on all outputs: error %.3g %%", 100*rel))
	}
}

func TestOwnTensors(t *testing.T) {
	t.Run("type=float32", ownTensors[float32])
	t.Run("type=float64", ownTensors[float64])
}

// The program compares heads of the trained model. The answer keeps the tolerance, is cheaper than
// exact attention, and ends a short report.
func TestTrainedHeads(t *testing.T) {
	model, err := filepath.Abs("../transformer/trained")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(model, "model.safetensors")); err != nil {
		t.Skip("the model is in a module of its own, which is not here")
	}
	t.Chdir(t.TempDir())
	for _, length := range []string{"128", "2048"} {
		out := clitest.Output(t, run, "-model", model, "-length", length, "-size", "16", "-o", "out.npy", "-tolerance", "0.1", "-causal="+strconv.FormatBool(length == "128"))
		assert.Contains(t, out, "L = "+length+", d = 64, 4 heads\n")
		assert.Contains(t, out, "Heads [0.0 1.1 2.2 3.3] of the decoder")
		assert.Contains(t, out, "is in attention.png")
		assert.Contains(t, out, "\nTo 10 %, head 1: ")
		assert.LessOrEqual(t, strings.Count(out, "\n"), 24)
		_, shape, err := matrices.Read("out.npy")
		require.NoError(t, err)
		n, err := strconv.Atoi(length)
		require.NoError(t, err)
		assert.Equal(t, []int{4, n, 64}, shape)
		m := regexp.MustCompile(`Measured on all outputs: error ([\d.]+) %`).FindStringSubmatch(out)
		require.Len(t, m, 2)
		e, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		assert.LessOrEqual(t, e, 10.0)
		if n > 1000 {
			assert.Positive(t, e)
			assert.Less(t, strings.Count(out, ": exact attention"), 4)
		}
	}
}

func TestFlags(t *testing.T) { clitest.Flags(t, run) }

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	q := save[float32](t, dir, "q", 6, 4)
	k := save[float32](t, dir, "k", 6, 4)
	v := save[float32](t, dir, "v", 6, 3)
	zero := filepath.Join(dir, "zero.npy")
	require.NoError(t, npy.WriteFile(zero, make([]float32, 18), 6, 3))
	nan := filepath.Join(dir, "nan.npy")
	bad := make([]float32, 18)
	bad[5] = float32(math.NaN())
	require.NoError(t, npy.WriteFile(nan, bad, 6, 3))
	flat := save[float32](t, dir, "flat", 1, 6, 3)
	four := save[float32](t, dir, "four", 4, 6, 4)
	threeHeads := save[float32](t, dir, "three", 3, 6, 4)
	narrow := save[float32](t, dir, "narrow", 6, 2)
	short := save[float32](t, dir, "short", 5, 3)
	fewKeys, fewValues := save[float32](t, dir, "fk", 5, 4), short
	text := filepath.Join(dir, "text.txt")
	require.NoError(t, os.WriteFile(text, []byte("words"), 0o600))

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-q", q}, "-k is missing"},
		{[]string{"-q", q, "-v", v}, "-k is missing"},
		{[]string{"-q", q, "-k", k}, "-v is missing"},
		{[]string{"-v", v}, "-q is missing"},
		{[]string{"-q", q, "-k", k, "-v", v, "-model", dir}, "-model is about a model"},
		{[]string{"-q", q, "-k", k, "-v", v, "-length", "3"}, "-length is about a model"},
		{[]string{"-q", "none.npy", "-k", k, "-v", v}, "no such file or directory, want a file that is there"},
		{[]string{"-q", q, "-k", text, "-v", v}, text + ": not a NumPy file"},
		{[]string{"-q", q, "-k", k, "-v", flat}, "want the same rank"},
		{[]string{"-q", four, "-k", threeHeads, "-v", flat}, "has 4 heads"},
		{[]string{"-q", q, "-k", narrow, "-v", v}, narrow + " 2: want the same"},
		{[]string{"-q", q, "-k", k, "-v", short}, short + " has 5 values"},
		{[]string{"-q", q, "-k", fewKeys, "-v", fewValues, "-causal"}, "-causal wants the same"},
		{[]string{"-q", q, "-k", k, "-v", nan}, nan + ": element [1 2] is NaN"},
		{[]string{"-q", q, "-k", k, "-v", zero}, "exact attention is zero everywhere"},
		{[]string{"-model", dir}, "want the folder of a decoder: the root of the repository has examples/transformer/trained"},
		{[]string{"-size", "0"}, `-size "0", want whole numbers`},
		{[]string{"-size", "64,x"}, `-size "x", want whole numbers`},
		{[]string{"-size", "99999999999999999999"}, "want whole numbers from 1 to 8192"},
		{[]string{"stray"}, `unexpected argument "stray"`},
	} {
		err := run(c.args, io.Discard)
		assert.ErrorContains(t, err, c.want, "%v", c.args)
	}
	assert.NoFileExists(t, "attention.png", "errors come before any output")
}
