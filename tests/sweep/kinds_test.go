package sweep_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// TestKinds fails if files do not know a kernel of package kernels or an ensemble, or if orf.Draw
// does not.
func TestKinds(t *testing.T) {
	var ofKernels, ofEnsembles []string
	for _, of := range types {
		switch x := reflect.Zero(of).Interface().(type) {
		case kernels.Kernel:
			ofKernels = append(ofKernels, of.Name())
		case orf.Ensemble:
			ofEnsembles = append(ofEnsembles, of.Name())
			_, err := orf.Draw[float32](x, 2, 2, rand.NewPCG(1, 2))
			assert.NoError(t, err)
		}
	}
	assert.ElementsMatch(t, ofKernels, registry.Names[kernels.Kernel](), "rff/file.go names the kernels in files")
	assert.ElementsMatch(t, ofEnsembles, registry.Names[orf.Ensemble](), "orf/file.go names the ensembles in files")
}
