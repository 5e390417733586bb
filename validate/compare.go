package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"text/tabwriter"

	"github.com/seed-feabd252/randfeat/dense"
)

// Method is a way to draw random feature maps, with a name for the result of Compare.
type Method[T dense.Float] struct {
	Name string
	Draw Draw[T]
}

// Compared is the result of Compare for one method.
type Compared struct {
	Name string
	Measurement
	// Ratio is the MSE of the method divided by the MSE of the first method, and RatioStdErr the
	// standard error of Ratio to first order.
	Ratio, RatioStdErr float64
}

// Comparison is the result of Compare, with results in the order of the argument methods.
type Comparison struct {
	Draws, Pairs int
	Methods      []Compared
}

// Compare measures the errors of kernel estimates at n pairs of points, the rows of x and y (both
// n×d), for several methods to draw feature maps, with draws ≥ 2 maps of each method. Compare
// divides the mean squared error of each method by that of the first method, which tells which way
// to draw maps has smaller errors:
//
//	Compare(ctx, []Method[float64]{
//		{Name: "iid", Draw: drawIID},
//		{Name: "orthogonal", Draw: drawOrthogonal},
//	}, x, y, 1000, src)
//
// A Ratio below 1 by several RatioStdErr says that a method has a smaller error than the first.
// Compare measures one method after another, with other random numbers of src, so that estimates by
// different methods are independent. Compare measures each method against the kernel that the first
// map of the method returns by Kernel. Compare returns an error for no methods, and an error of
// Measure with the name of the method. Compare panics if ctx is nil.
func Compare[T dense.Float](ctx context.Context, methods []Method[T], x, y dense.Matrix[T], draws int, src rand.Source) (Comparison, error) {
	c := Comparison{Draws: draws, Pairs: x.Rows}
	if len(methods) == 0 {
		return Comparison{}, errors.New("validate: no methods, want at least 1")
	}
	for i, method := range methods {
		m, err := measure(ctx, method.Draw, x, y, draws, src)
		if err != nil {
			return Comparison{}, fmt.Errorf("validate: method %s: %w", method.Name, err)
		}
		row := Compared{Name: method.Name, Measurement: m, Ratio: 1}
		if i > 0 {
			// To first order in both errors, which are independent.
			first := c.Methods[0]
			row.Ratio = row.MSE / first.MSE
			row.RatioStdErr = math.Hypot(row.MSEStdErr, row.Ratio*first.MSEStdErr) / first.MSE
		}
		c.Methods = append(c.Methods, row)
	}
	return c, nil
}

// String returns a table with a row for each method, with the largest |Z| over all pairs of points
// last.
func (c Comparison) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d pairs, %d draws\n", c.Pairs, c.Draws)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tMSE\tstd. error\tratio\tstd. error\tworst |z|\t")
	for _, r := range c.Methods {
		_, z := r.Worst()
		fmt.Fprintf(w, "%s\t%.4g\t%.2g\t%.3f\t%.3f\t%.2f\t\n", r.Name, r.MSE, r.MSEStdErr, r.Ratio, r.RatioStdErr, math.Abs(z))
	}
	_ = w.Flush()
	return b.String()
}
