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

// small are flags that keep a run short, and quick are those for a text.
func small(args ...string) []string {
	return append([]string{"-draws", "2", "-size", "4,16"}, args...)
}

func quick(args ...string) []string {
	return small(append([]string{"-length", "80"}, args...)...)
}

// count returns the lines of the table that begin with a form.
func count(out string) (n int) {
	for _, form := range formNames {
		n += strings.Count(out, "\n"+form+" ")
	}
	return n
}

func TestDefaultText(t *testing.T) {
	t.Chdir(t.TempDir())
	out := clitest.Output(t, run, quick()...)
	assert.Equal(t, len(formNames), count(out))
	assert.Contains(t, out, "L = 80, d = 64\n")
	assert.Contains(t, out, "is in attention.png")
	info, err := os.Stat("attention.png")
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(1000))
}

func TestFallbackText(t *testing.T) {
	t.Setenv("GOROOT", t.TempDir())
	t.Setenv("PATH", "")
	plot := filepath.Join(t.TempDir(), "p.svg")
	out := clitest.Output(t, run, quick("-plot", plot)...)
	assert.Contains(t, out, "README")
	assert.Equal(t, len(formNames), count(out))
}

func TestOwnTextCausal(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "mine.txt")
	var b strings.Builder
	src := exprand.NewSource(2)
	for range 400 {
		fmt.Fprintf(&b, "w%c%c ", 'a'+rune(src.Uint64()%10), 'a'+rune(src.Uint64()%10))
	}
	require.NoError(t, os.WriteFile(text, []byte(b.String()), 0o600))
	plot := filepath.Join(dir, "p.svg")
	out := clitest.Output(t, run, quick("-text", text, "-causal", "-plot", plot)...)
	assert.Contains(t, out, "causal attention: L = 80")
	assert.Contains(t, out, text+": 400 words")
	assert.Equal(t, len(formNames), count(out))
	svg, err := os.ReadFile(plot)
	require.NoError(t, err)
	for _, want := range []string{"clusters", "SDERF", "FAVOR+", "hyperbolic", "mine.txt", "mean of values", "elu+1", "time, ms"} {
		assert.Contains(t, string(svg), want)
	}
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

// Heads of a model are compared beside the text.
func TestHeads(t *testing.T) {
	folder, err := filepath.Abs("smollm2")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(folder, "book", "q.npy")); err != nil {
		t.Skip("the heads are in a module of their own, which is not here")
	}
	t.Chdir(t.TempDir())
	for _, causal := range []string{"-causal=false", "-causal"} {
		out := clitest.Output(t, run, "-heads", folder, "-length", "128", "-draws", "2", "-size", "16", "-o", "text.npy", causal)
		assert.Equal(t, 1, strings.Count(out, "These outputs are in text.npy."), "those of the heads have no file")
		_, shape, err := matrices.Read("text.npy")
		require.NoError(t, err)
		assert.Equal(t, []int{128, dim}, shape)
		assert.Contains(t, out, "L = 128, d = 64, 2 heads\nHeads in the folders book, go of ")
		assert.Contains(t, out, "\nheads of SmolLM2:\nTo 5 %, head 1: ")
	}
	assert.ErrorContains(t, run([]string{"-heads", t.TempDir(), "-length", "80", "-size", "4"}, io.Discard), "want a folder of folders")
	odd := t.TempDir()
	for i, folder := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(odd, folder), 0o700))
		for _, name := range []string{"q", "k", "v"} {
			save[float32](t, filepath.Join(odd, folder), name, 6-i, 4)
		}
	}
	assert.ErrorContains(t, run([]string{"-heads", odd, "-length", "80", "-size", "4"}, io.Discard), "q.npy has 5 tokens of 4 coordinates, the first head 6 of 4")
}

// The answer keeps the tolerance on the text, is cheaper than exact attention, and ends a short
// report.
func TestAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	t.Chdir(t.TempDir())
	out := clitest.Output(t, run, "-length", "8192", "-draws", "2", "-size", "16", "-tolerance", "0.1")
	assert.Equal(t, 1, strings.Count(out, "To 10 %: "))
	assert.Regexp(t, `\nTo 10 %: .*\nMeasured on all outputs: .*\n$`, out)
	assert.LessOrEqual(t, strings.Count(out, "\n"), 29)
	assert.NotContains(t, out, "To 10 %: exact attention")
	m := regexp.MustCompile(`Measured on all outputs: error ([\d.]+) %`).FindStringSubmatch(out)
	require.Len(t, m, 2)
	e, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	assert.LessOrEqual(t, e, 10.0)
	assert.Positive(t, e)
}

// Trigonometric features overflow where ‖q‖²/(2√d) is large; positive ones are used
// in log space.
func TestOverflowIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	out := clitest.Output(t, run, quick("-norm", "100")...)
	assert.Regexp(t, `(?m)^trig .*overflow`, out)
	assert.NotRegexp(t, `(?m)^(hyperbolic|FAVOR[+]+|SDERF) .*overflow`, out)
	assert.NotContains(t, out, "NaN")
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
	brief := filepath.Join(dir, "brief.txt")
	require.NoError(t, os.WriteFile(brief, []byte("too few words"), 0o600))
	binary := filepath.Join(dir, "binary.txt")
	require.NoError(t, os.WriteFile(binary, []byte{0xff, 0xfe}, 0o600))

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-q", q}, "-k is missing"},
		{[]string{"-q", q, "-v", v}, "-k is missing"},
		{[]string{"-q", q, "-k", k}, "-v is missing"},
		{[]string{"-v", v}, "-q is missing"},
		{[]string{"-q", q, "-k", k, "-v", v, "-text", brief}, "-text is about a text"},
		{[]string{"-q", q, "-k", k, "-v", v, "-norm", "3"}, "-norm is about a text"},
		{[]string{"-q", "none.npy", "-k", k, "-v", v}, "no such file or directory, want a file that is there"},
		{[]string{"-q", q, "-k", brief, "-v", v}, brief + ": not a NumPy file"},
		{[]string{"-q", q, "-k", k, "-v", flat}, "want the same rank"},
		{[]string{"-q", four, "-k", threeHeads, "-v", flat}, "has 4 heads"},
		{[]string{"-q", q, "-k", narrow, "-v", v}, narrow + " 2: want the same"},
		{[]string{"-q", q, "-k", k, "-v", short}, short + " has 5 values"},
		{[]string{"-q", q, "-k", fewKeys, "-v", fewValues, "-causal"}, "-causal wants the same"},
		{[]string{"-q", q, "-k", k, "-v", nan}, nan + ": element [1 2] is NaN"},
		{[]string{"-q", q, "-k", k, "-v", zero}, "exact attention is zero everywhere"},
		{[]string{"-text", brief}, brief + ": vectors: the text has 3 different words, want at least 64"},
		{[]string{"-text", binary}, binary + ": not UTF-8"},
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
