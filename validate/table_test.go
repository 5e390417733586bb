package validate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/validate"
)

func grid() validate.Table {
	return validate.Table{
		Title:   "results",
		Columns: []validate.Column{{Name: "method"}, {Name: "m"}, {Name: "error", Format: "%.2f"}},
		Rows:    [][]any{{"iid, plain", 8, 1.0 / 3}, {"other", 16, nil}, {"broken", 32, math.NaN()}},
	}
}

func TestTablePrints(t *testing.T) {
	assert.Equal(t, "results\n      method   m  error\n  iid, plain   8   0.33\n       other  16      —\n      broken  32    NaN\n", grid().String())
}
