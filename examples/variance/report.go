package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/seed-feabd252/randfeat/examples/internal/table"
)

// print writes the table for people.
func (s *study) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\nmean squared error, d = %d, %d pairs of norm %v, %d draws, seed %d\n\n",
		s.title, s.d, s.pairs, s.norm, s.draws, s.seed)
	right := func(name string) table.Column { return table.Column{Name: name, Right: true} }
	t := table.New(right("m"), table.Column{Name: "frequencies"}, right("MSE ± std. error"), right("exact law"), right("z"),
		right("ratio to iid"), right("worst bias"))
	for i, c := range s.cells {
		if i > 0 && c.m != s.cells[i-1].m {
			t.Gap()
		}
		ratio := known("%.3f", c.Ratio)
		if c.RatioStdErr > 0 {
			ratio += fmt.Sprintf(" ± %.3f", c.RatioStdErr)
		}
		t.Row(strconv.Itoa(c.m), c.projection.name, fmt.Sprintf("%.4g ± %.1g", c.Variance.MSE, c.Variance.StdErr),
			known("%.4g", c.law), known("%+.1f", c.z()), ratio, known("%.1f", c.bias()))
	}
	return t.Fprint(w)
}

// known formats v, or writes a dash where there is no number.
func known(format string, v float64) string {
	if math.IsNaN(v) {
		return "—"
	}
	return fmt.Sprintf(format, v)
}

// save writes the table for programs, with all digits and nothing where there is
// no law.
func (s *study) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	w := csv.NewWriter(f)
	// The writer keeps its first error for Error.
	_ = w.Write([]string{"kernel", "d", "pairs", "norm", "draws", "seed", "m", "frequencies",
		"mse", "mse_stderr", "law", "z", "ratio", "ratio_stderr", "worst_bias_z"})
	for _, c := range s.cells {
		_ = w.Write([]string{s.name, strconv.Itoa(s.d), strconv.Itoa(s.pairs), number(s.norm), strconv.Itoa(s.draws),
			strconv.FormatUint(s.seed, 10), strconv.Itoa(c.m), c.projection.name,
			number(c.Variance.MSE), number(c.Variance.StdErr), number(c.law), number(c.z()),
			number(c.Ratio), number(c.RatioStdErr), number(c.bias())})
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return f.Close()
}
