package randfeat_test

// Tests compile blocks of pages and the program of TestOwnModule with these packages. The imports
// let go test compile the packages before these tests run. Otherwise go test would compile them
// twice at the same time: for their own tests, and for the go command of a test.
import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "github.com/seed-feabd252/randfeat/blas"
	_ "github.com/seed-feabd252/randfeat/components"
	_ "github.com/seed-feabd252/randfeat/dense"
	_ "github.com/seed-feabd252/randfeat/dense/gonum"
	_ "github.com/seed-feabd252/randfeat/dense/half"
	_ "github.com/seed-feabd252/randfeat/givens"
	_ "github.com/seed-feabd252/randfeat/hadamard"
	_ "github.com/seed-feabd252/randfeat/hypothesis"
	_ "github.com/seed-feabd252/randfeat/kernels"
	_ "github.com/seed-feabd252/randfeat/kmeans"
	_ "github.com/seed-feabd252/randfeat/landmarks"
	_ "github.com/seed-feabd252/randfeat/npy"
	_ "github.com/seed-feabd252/randfeat/orf"
	_ "github.com/seed-feabd252/randfeat/performer"
	_ "github.com/seed-feabd252/randfeat/performer/audit"
	_ "github.com/seed-feabd252/randfeat/performer/blocks"
	_ "github.com/seed-feabd252/randfeat/performer/estimate"
	_ "github.com/seed-feabd252/randfeat/performer/layer"
	_ "github.com/seed-feabd252/randfeat/performer/recurrence"
	_ "github.com/seed-feabd252/randfeat/quantise"
	_ "github.com/seed-feabd252/randfeat/quantise/index"
	_ "github.com/seed-feabd252/randfeat/rff"
	_ "github.com/seed-feabd252/randfeat/ridge"
	_ "github.com/seed-feabd252/randfeat/ridge/automl"
	_ "github.com/seed-feabd252/randfeat/ridge/kernelridge"
	_ "github.com/seed-feabd252/randfeat/safetensors"
	_ "github.com/seed-feabd252/randfeat/semiseparable"
	_ "github.com/seed-feabd252/randfeat/table"
	_ "github.com/seed-feabd252/randfeat/validate"
	_ "github.com/seed-feabd252/randfeat/validate/charts"
	_ "github.com/seed-feabd252/randfeat/validate/conformance"
)

// TestLibraryIsCompiled: the imports of this file have every public package.
func TestLibraryIsCompiled(t *testing.T) {
	imported := imports(t, ".", true)["compiled_test.go"]
	for _, folder := range publicPackages(t) {
		if folder != "" {
			assert.Contains(t, imported, path.Join(module, folder))
		}
	}
}
