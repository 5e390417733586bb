package randfeat_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTransformsLinkLittle: a program that imports a transform links fmt, the transform, and no
// package of gonum. An empty program has 31 packages, a program with fmt 62, and with checksums too
// 65.
func TestTransformsLinkLittle(t *testing.T) {
	for _, name := range []string{"dense", "givens", "hadamard"} {
		out, err := exec.Command("go", "list", "-deps", "./"+name).Output()
		require.NoError(t, err)
		packages := strings.Fields(string(out))
		assert.Contains(t, packages, module+name)
		assert.LessOrEqual(t, len(packages), 76, "%s links %v", name, packages)
		for _, p := range packages {
			if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
				known := strings.HasPrefix(p, module) || p == "golang.org/x/sys/cpu"
				assert.True(t, known, "%s links %s", name, p)
			}
		}
	}
}
