package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var every = regexp.MustCompile("")

func TestReadAll(t *testing.T) {
	const input = "b/n=2\t3.5\n\na/n=1\t0.25\t12 GFLOP/s\tmore\r\nb/n=2\t1e1\nb/n=2\t3\n"
	rows, err := readAll(nil, strings.NewReader(input), every)
	require.NoError(t, err)
	assert.Equal(t, []*row{{name: "b/n=2", peer: 3, ours: math.Inf(1)}, {name: "a/n=1", peer: 0.25, ours: math.Inf(1)}}, rows)
}

func TestReadAllFiles(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "first"), filepath.Join(folder, "second")
	require.NoError(t, os.WriteFile(first, []byte("a\t2\nb\t2\nab\t2"), 0o600))
	require.NoError(t, os.WriteFile(second, []byte("c\t1\nb\t1\na\t3\n"), 0o600))
	rows, err := readAll([]string{first, second}, nil, regexp.MustCompile("^[bc]|a$"))
	require.NoError(t, err)
	var got []row
	for _, r := range rows {
		got = append(got, row{name: r.name, peer: r.peer})
	}
	assert.Equal(t, []row{{name: "a", peer: 2}, {name: "b", peer: 1}, {name: "c", peer: 1}}, got)

	require.NoError(t, os.WriteFile(second, []byte("c\t1\nb\n"), 0o600))
	_, err = readAll([]string{first, second}, nil, every)
	assert.EqualError(t, err, second+`:2: "b", want a name, a tab and milliseconds above 0`)
	_, err = readAll([]string{filepath.Join(folder, "third")}, nil, every)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadAllErrors(t *testing.T) {
	for _, line := range []string{"a 1", "a", "\t1", "a\t", "a\tb", "a\t0", "a\t-1", "a\tNaN", "a\tInf", "a\t1e999", "a\t1 ms", " "} {
		_, err := readAll(nil, strings.NewReader("good\t1\n"+line+"\n"), regexp.MustCompile("good"))
		require.Error(t, err, "%q", line)
		assert.Equal(t, "standard input:2: \""+strings.ReplaceAll(line, "\t", `\t`)+"\", want a name, a tab and milliseconds above 0", err.Error())
	}
	for _, input := range []string{"", "\n", "bad\t1\n"} {
		_, err := readAll(nil, strings.NewReader(input), regexp.MustCompile("good"))
		assert.EqualError(t, err, "no name to time", "%q", input)
	}
	broken := errors.New("broken")
	_, err := readAll(nil, io.MultiReader(strings.NewReader("good\t1\n"), iotest.ErrReader(broken)), every)
	assert.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "standard input:2: ")
}

func FuzzRead(f *testing.F) {
	f.Add("a/n=1\t0.5\tmore\n\nb\t2\r\n")
	f.Add("a\t0x1p-2\n\t\n")
	f.Fuzz(func(t *testing.T, input string) {
		names := 0
		err := read("input", strings.NewReader(input), func(name string, ms float64) {
			names++
			assert.NotEmpty(t, name)
			assert.NotContains(t, name, "\t")
			assert.Greater(t, ms, 0.0)
			assert.LessOrEqual(t, ms, math.MaxFloat64)
		})
		if err == nil {
			assert.LessOrEqual(t, names, 1+strings.Count(input, "\n"))
		} else {
			assert.ErrorContains(t, err, "input:")
		}
	})
}

// clock is a time that only sleep moves.
type clock struct{ time time.Time }

func (c *clock) now() time.Time        { return c.time }
func (c *clock) sleep(d time.Duration) { c.time = c.time.Add(d) }

func TestLeast(t *testing.T) {
	c, calls := &clock{}, 0
	durations := []time.Duration{1, 90, 2, 7, 5, 6, 3} // the first three warm up
	ms := stopwatch{c.now, 18 * time.Millisecond}.least(func() {
		c.sleep(durations[calls] * time.Millisecond)
		calls++
	})
	assert.Equal(t, 5.0, ms)
	assert.Equal(t, 6, calls, "7 + 5 + 6 ms fill 18 ms")

	ms = stopwatch{c.now, 1}.least(func() { c.sleep(4 * time.Millisecond) })
	assert.Equal(t, 4.0, ms, "a call that takes longer than the time to fill")

	calls = 0
	ms = stopwatch{c.now, 1}.least(func() { c.sleep(time.Microsecond); calls++ })
	assert.Equal(t, 0.001, ms)
	assert.Equal(t, 1+2+4+8+16+32+32, calls, "32 calls take the 20 µs that a clock tells well")
}

func TestCompareTakesTurns(t *testing.T) {
	c := &clock{}
	var order string
	rows := []*row{{name: "a", ours: math.Inf(1)}, {name: "b", ours: math.Inf(1)}, {name: "c", ours: math.Inf(1)}}
	bad := errors.New("bad")
	stopwatch{c.now, 1}.compare(rows, 3, func(name string) (func(), error) {
		order += name
		if name == "b" {
			return nil, bad
		}
		d := 10 * time.Millisecond
		if order == "abca" {
			d = time.Millisecond // the second round has the least time of a
		}
		return func() { c.sleep(d) }, nil
	})
	assert.Equal(t, "abcacac", order)
	assert.Equal(t, []*row{{name: "a", ours: 1}, {name: "b", ours: math.Inf(1), err: bad}, {name: "c", ours: 10}}, rows)
}

func TestPrintTable(t *testing.T) {
	rows := []*row{
		{name: "product/m=8/n=8/k=8", peer: 1.5, ours: 0.00052},
		{name: "µ/n=3", peer: 12345.6, ours: 98765.4},
		{name: "foo/n=3", peer: 1, ours: math.Inf(1), err: errors.New("no case")},
		{name: "exp/n=8", peer: 0.25, ours: 0.125},
	}
	var b bytes.Buffer
	require.NoError(t, printTable(&b, rows))
	assert.Equal(t, ""+
		"name                   peer ms    ours ms    ratio\n"+
		"product/m=8/n=8/k=8       1.50   0.000520  2884.62\n"+
		"µ/n=3                    12346      98765     0.12\n"+
		"exp/n=8                  0.250      0.125     2.00\n"+
		"\nnot timed: foo/n=3: no case\n", b.String())
}

func TestRun(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	var out bytes.Buffer
	input := "product/m=2/n=3/k=4\t5\nexp/n=4\t1\nfoo/n=1\t2\n"
	require.NoError(t, run([]string{"-time", "1us", "-rounds", "1", "-threads", "1", "-run", "o"}, strings.NewReader(input), &out))
	assert.Regexp(t, `^processor   \S.*
tier        (generic|avx2|avx512)
GOMAXPROCS  1
Go          \S.*

name                   peer ms    ours ms    ratio
product/m=2/n=3/k=4       5\.00 +0\.0\d+ +\d+\.\d\d

not timed: foo/n=1: no case "foo", want one of cos, .*
$`, out.String())
}

func TestRunErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-x":            "flag provided but not defined: -x",
		"-time=0s":      `invalid value "0s" for flag -time: want a duration from 1ns to 1h`,
		"-time=61m":     `invalid value "61m" for flag -time: want a duration from 1ns to 1h`,
		"-time=NaN":     `invalid value "NaN" for flag -time: want a duration from 1ns to 1h`,
		"-rounds=0":     `invalid value "0" for flag -rounds: want a whole number from 1 to 1000`,
		"-rounds=1001":  `invalid value "1001" for flag -rounds: want a whole number from 1 to 1000`,
		"-threads=-":    `invalid value "-" for flag -threads: want a whole number from 0 to 1024`,
		"-threads=-1":   `invalid value "-1" for flag -threads: want a whole number from 0 to 1024`,
		"-threads=1025": `invalid value "1025" for flag -threads: want a whole number from 0 to 1024`,
		"-run=(":        "-run: error parsing regexp: missing closing ): `(`",
	} {
		var out bytes.Buffer
		assert.EqualError(t, run([]string{args}, strings.NewReader("exp/n=1\t1\n"), &out), want)
		assert.Empty(t, out.String())
	}
	var out bytes.Buffer
	assert.EqualError(t, run(nil, strings.NewReader("exp/n=1\n"), &out), `standard input:1: "exp/n=1", want a name, a tab and milliseconds above 0`)
	assert.Empty(t, out.String())
	require.NoError(t, run([]string{"-h"}, nil, &out))
	assert.Contains(t, out.String(), "-rounds")
}
