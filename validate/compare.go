package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// Method is a way to draw maps, with the name that Compare prints.
type Method[T dense.Float] struct {
	Name string
	Draw Draw[T]
}

// Compared is the result of Compare for one method.
type Compared struct {
	Name string
	Measurement
	// Ratio is the mean squared error over all pairs divided by the error of the first method, and
	// RatioStdErr its standard error to first order. They are exactly 1 and 0 for the first method.
	Ratio, RatioStdErr float64
}

// Comparison is the result of Compare, with one row for each method, in the given order.
type Comparison struct {
	// Draws is the argument draws of Compare. A method has fewer draws if Compare ended early.
	Draws, Pairs int
	Methods      []Compared
}

// Compare measures several methods at the same pairs, the rows of x and y (both n×d), each with
// draws ≥ 2 maps of its own. It answers "is this construction better than that one" in one call:
//
//	Compare(ctx, []Method[float64]{
//		{Name: "iid", Draw: drawIID},
//		{Name: "orthogonal", Draw: drawOrthogonal},
//	}, x, y, 1000, Options{}, src)
//
// A ratio below 1 by several standard errors says that the method beats the first. Methods are
// drawn one after another from src, as Measure draws them, so their errors are independent; each is
// compared with the kernel that its own maps name. Errors are the errors of Measure, with the name
// of the method, and no methods. With an error, the Comparison has the methods before it. It also
// has the method that met the error, if at least two of its draws were made.
// ctx ends as that of Measure does, and a nil ctx panics.
func Compare[T dense.Float](ctx context.Context, methods []Method[T], x, y dense.Matrix[T], draws int, opts Options, src rand.Source) (Comparison, error) {
	c, run := Comparison{Draws: draws, Pairs: x.Rows}, newControl(ctx, opts.Progress, draws*len(methods))
	if len(methods) == 0 {
		return Comparison{}, errors.New("validate: no methods, want at least 1")
	}
	for i, method := range methods {
		m, err := measure(method.Draw, x, y, draws, src, run)
		if m != nil {
			row := Compared{Name: method.Name, Measurement: m.result(epsilon[T]()), Ratio: 1}
			if i > 0 {
				// To first order in the errors of the two, which are independent.
				first := c.Methods[0]
				row.Ratio = row.MSE / first.MSE
				row.RatioStdErr = math.Hypot(row.MSEStdErr, row.Ratio*first.MSEStdErr) / first.MSE
			}
			c.Methods = append(c.Methods, row)
		}
		if err != nil {
			return c, fmt.Errorf("validate: method %s: %w", method.Name, err)
		}
	}
	return c, nil
}

// Table returns a row for each method. The last column is the largest |z| of the bias over all
// pairs. If some draws are missing, one more column has the number of draws that were made.
func (c Comparison) Table() Table {
	table := Table{
		Title: fmt.Sprintf("%d pairs, %d draws", c.Pairs, c.Draws),
		Columns: []Column{
			{Name: "method", Key: "method"},
			{Name: "MSE", Key: "mse", Format: "%.4g"}, {Name: "std. error", Key: "mse_stderr", Format: "%.2g"},
			{Name: "ratio", Key: "ratio", Format: "%.3f"}, {Name: "std. error", Key: "ratio_stderr", Format: "%.3f"},
			{Name: "worst |z|", Key: "worst_z", Format: "%.2f"},
		},
	}
	for _, r := range c.Methods {
		_, z := r.Worst()
		table.Rows = append(table.Rows, []any{r.Name, r.MSE, r.MSEStdErr, r.Ratio, r.RatioStdErr, math.Abs(z)})
	}
	if slices.ContainsFunc(c.Methods, func(r Compared) bool { return r.Draws < c.Draws }) {
		table.Columns = append(table.Columns, Column{Name: "draws", Key: "draws"})
		for i, r := range c.Methods {
			table.Rows[i] = append(table.Rows[i], r.Draws)
		}
	}
	return table
}
