package validate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/validate"
)

func TestNilContext(t *testing.T) {
	x, y := pairs[float64](3, 3)
	draw, src := drawWaves[float64](2, 3, 1), exprand.NewSource(1)
	var none context.Context
	for _, call := range []func(){
		func() { _, _ = validate.Measure(none, draw, x, y, 40, src) },
		func() {
			_, _ = validate.Compare(none, []validate.Method[float64]{{"a", draw}}, x, y, 40, src)
		},
	} {
		assert.PanicsWithValue(t, "validate: ctx is nil", call)
	}
}
