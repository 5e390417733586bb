package validate_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate"
)

func grid() validate.Table {
	return validate.Table{
		Title:   "results",
		Columns: []validate.Column{{Name: "method", Key: "method"}, {Name: "m", Key: "m"}, {Name: "error", Key: "error", Format: "%.2f"}},
		Rows:    [][]any{{"iid, plain", 8, 1.0 / 3}, {"other", 16, nil}, {"broken", 32, math.NaN()}},
	}
}

func TestTablePrints(t *testing.T) {
	assert.Equal(t, "results\n      method   m  error\n  iid, plain   8   0.33\n       other  16      —\n      broken  32    NaN\n", grid().String())
}

func TestTableAsCSV(t *testing.T) {
	var b strings.Builder
	require.NoError(t, grid().WriteCSV(&b))
	assert.Equal(t, "method,m,error\n\"iid, plain\",8,0.3333333333333333\nother,16,\nbroken,32,NaN\n", b.String())

	b.Reset()
	table := validate.Measurement{Kernel: kernels.Gaussian{}, Draws: 3, Pairs: []validate.Estimate{{Truth: 0.5, Mean: 0.25, StdErr: 2, Z: -4, MSE: 1e-17, MSEStdErr: 0.125}}, MSE: 2, MSEStdErr: 1}
	require.NoError(t, table.Table().WriteCSV(&b))
	assert.Equal(t, "pair,truth,mean,stderr,z,mse,mse_stderr\n0,0.5,0.25,2,-4,1e-17,0.125\nall,,,,,2,1\n", b.String())

	assert.ErrorContains(t, grid().WriteCSV(full{}), "no room")
}

// A row of another length would print numbers under wrong headings.
func TestRowsOfOtherLengths(t *testing.T) {
	for length, want := range map[int]string{
		2: "validate: row 1 has length 2, want a cell for each of 3 columns",
		4: "validate: row 1 has length 4, want a cell for each of 3 columns",
	} {
		table := grid()
		table.Rows[1] = make([]any, length)
		var b strings.Builder
		assert.EqualError(t, table.WriteCSV(&b), want)
		assert.Empty(t, b.String())
	}
}

// full is a writer that returns an error.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }
