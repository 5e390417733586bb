package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRanges(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"-n=9", ""}, {"-x=-0.5", ""}, {"-x=1e1", ""}, {"-seed=18446744073709551615", ""}, {"-in=flags.go", ""}, {"-in=", ""},
		{"-out=" + dir + "/a.PNG", ""}, {"-out=", ""}, {"-on", ""}, {"-on=false", ""},
		{"-n=0", `invalid value "0" for flag -n: want a whole number from 1 to 9`},
		{"-n=10", `invalid value "10" for flag -n: want a whole number from 1 to 9`},
		{"-n=18446744073709551617", `invalid value "18446744073709551617" for flag -n: want a whole number from 1 to 9`},
		{"-x=NaN", `invalid value "NaN" for flag -x: want a number from -0.5 to 10`},
		{"-x=1e999", `invalid value "1e999" for flag -x: want a number from -0.5 to 10`},
		{"-seed=-1", `invalid value "-1" for flag -seed: want a whole number from 0 to 18446744073709551615`},
		{"-in=none", `invalid value "none" for flag -in: no such file or directory, want a file that is there, "" for none`},
		{"-in=.", `invalid value "." for flag -in: no file, want a file that is there, "" for none`},
		{"-out=a.gif", `invalid value "a.gif" for flag -out: ending ".gif", want a file in a folder that can be written, ending in .png, "" for none`},
		{"-out=no/a.png", `invalid value "no/a.png" for flag -out: no such file or directory, want a file in a folder that can be written, ending in .png, "" for none`},
		{"-on=perhaps", `invalid boolean value "perhaps" for -on: want true or false`},
	} {
		var n int
		var x float64
		var seed uint64
		var in, out string
		var on bool
		f := NewFlags("program")
		f.IntVar(&n, "n", 3, 1, 9, "things")
		f.Float64Var(&x, "x", 0, -0.5, 10, "place")
		f.Uint64Var(&seed, "seed", 1, "seed")
		f.InputVar(&in, "in", "", "file", "text")
		f.OutputVar(&out, "out", "", "picture", ".png")
		f.BoolVar(&on, "on", "on or off")
		_, err := f.Parse("about", []string{c.args}, nil)
		if c.want == "" {
			assert.NoError(t, err, c.args)
		} else {
			assert.EqualError(t, err, c.want+" (-h describes the flags)")
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "looking writes nothing")
}
