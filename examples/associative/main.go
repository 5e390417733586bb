// Command associative stores pairs of keys and values in the state of linear attention and of the
// delta rule, and reads the values back.
//
//	go run ./examples/associative
//
// The program prints and draws the error of the values that it reads, against the number of keys.
// The correct value of a key is the last value written for the key. The same flags give the same
// numbers.
package main

import (
	"fmt"
	"io"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

func main() { cli.Main("associative", run) }

const about = `associative writes n pairs of a key in R^d and a value in R^d, one after another, into the d×d state S of a
recurrence; then it writes new values under half of the keys, drawn at random, and asks for all keys.

    linear       S ← S + k·vᵀ                     adds a second value to the first
    gated        S ← e^−decay·S + k·vᵀ            forgets what is old, wanted or not
    delta        S ← S + k·(v − Sᵀk)ᵀ             replaces what S holds for k
    gated_delta  S ← e^−decay·S, then as delta

Keys are uniform on the sphere. Values are standard normal.`

// settings are the flags.
type settings struct {
	d, draws int
	decay    float64
	seed     uint64
	plot     string
}

// counts are the numbers of keys of the table.
func (s settings) counts() []int {
	return []int{s.d / 8, s.d / 4, s.d / 2, s.d, 2 * s.d, 4 * s.d}
}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("associative")
	// A draw takes time proportional to d³.
	fs.IntVar(&s.d, "d", 64, 8, 1024, "dimension of keys and values, a multiple of 8")
	fs.Float64Var(&s.decay, "decay", 0.01, 0, 700, "what the gated rules forget a write: e^−decay is kept")
	fs.IntVar(&s.draws, "draws", 20, 2, 100_000, "draws of keys and values that an error bar is made of")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same errors")
	fs.OutputVar(&s.plot, "plot", "associative.png", "picture of the error against n", cli.Pictures...)
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	if s.d%8 != 0 {
		return fmt.Errorf("-d %d, want a multiple of 8", s.d)
	}
	rows, err := s.measure(exprand.NewSource(s.seed))
	if err != nil {
		return err
	}
	if err := s.report(stdout, rows); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of the error against n", s.plot, s.picture(rows).Save)
}
