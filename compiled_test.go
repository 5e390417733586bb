package randfeat_test

// Blocks of pages and the program of TestOwnModule are compiled with these packages. As imports they
// are compiled before these tests run. Otherwise go test would compile them twice at the same time:
// for their own tests, and for the go command that a test starts.
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
	_ "github.com/seed-feabd252/randfeat/performer/clusters"
	_ "github.com/seed-feabd252/randfeat/performer/estimate"
	_ "github.com/seed-feabd252/randfeat/performer/layer"
	_ "github.com/seed-feabd252/randfeat/performer/recurrence"
	_ "github.com/seed-feabd252/randfeat/quantise"
	_ "github.com/seed-feabd252/randfeat/rff"
	_ "github.com/seed-feabd252/randfeat/ridge"
	_ "github.com/seed-feabd252/randfeat/ridge/ard"
	_ "github.com/seed-feabd252/randfeat/ridge/iterative"
	_ "github.com/seed-feabd252/randfeat/safetensors"
	_ "github.com/seed-feabd252/randfeat/semiseparable"
	_ "github.com/seed-feabd252/randfeat/validate"
	_ "github.com/seed-feabd252/randfeat/validate/charts"
	_ "github.com/seed-feabd252/randfeat/validate/conformance"
)

// TestLibraryIsCompiled: a public package is imported here.
func TestLibraryIsCompiled(t *testing.T) {
	imported := imports(t, ".", true)["compiled_test.go"]
	for _, folder := range publicPackages(t) {
		if folder != "" {
			assert.Contains(t, imported, path.Join(module, folder))
		}
	}
}
