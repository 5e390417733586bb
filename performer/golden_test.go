package performer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// The linear attention of elu+1 features [Katharopoulos et al. 2020] on a
// three-token case whose outputs are known to eight digits from an independent
// implementation in float32.
//
//ci:portable
func TestGoldenELU(t *testing.T) {
	densetest.Both(t, testGoldenELU[float32], testGoldenELU[float64])
}

func testGoldenELU[T dense.Float](t *testing.T) {
	q := dense.Of(3, 3, []T{1.8, 1.35, -1.89, .08, 1.27, -1.06, .28, .12, -.67})
	k := dense.Of(3, 3, []T{.71, -.5, -1.58, 1.43, -.16, .49, .58, -.27, -.25})
	v := dense.Of(3, 3, []T{.88, -1.09, -.45, .43, -.21, -.75, .84, .01, .01})
	want := []float64{
		.68021652, -.39977211, -.44051976,
		.678651, -.38249578, -.43479299,
		.6720585, -.38117003, -.44469679,
	}
	got := attention[T](must.Have(rff.Draw[T](rff.ELU{D: 3}, nil)), performer.LinearOptions{}).Forward(dense.Matrix[T]{}, q, k, v)
	for i, x := range got.Data {
		assert.InDelta(t, want[i], float64(x), 2e-7, "element %d", i)
	}
}
