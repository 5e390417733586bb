package randfeat_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// The tier is the one that runs, also if the environment turns tiers off.
func TestVersion(t *testing.T) {
	if os.Getenv("RANDFEAT_DISABLE") == "avx2,neon" {
		assert.True(t, strings.HasPrefix(randfeat.Version(), "(devel), ") && strings.HasSuffix(randfeat.Version(), ", generic"), randfeat.Version())
		return
	}
	assert.Equal(t, simd.Best == simd.Generic, strings.HasSuffix(randfeat.Version(), "generic"))
	again := exec.Command(os.Args[0], "-test.run", "^TestVersion$")
	again.Env = append(os.Environ(), "RANDFEAT_DISABLE=avx2,neon")
	out, err := again.CombinedOutput()
	require.NoError(t, err, string(out))
}
