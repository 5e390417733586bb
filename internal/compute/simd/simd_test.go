package simd

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllowed(t *testing.T) {
	const unknown = "randfeat: RANDFEAT_DISABLE: unknown tier "
	for _, c := range []struct {
		have     Tier
		disabled string
		want     Tier
		warnings string
	}{
		{AVX512, "", AVX512, ""}, {AVX512, "avx512", AVX2, ""}, {AVX512, "avx512,avx2", Generic, ""},
		{AVX512, "avx2", Generic, ""}, {AVX512, " avx2 ", Generic, ""}, {AVX512, "avx512,", AVX2, ""},
		{AVX2, "avx512", AVX2, ""}, {AVX512, "avx512,avxvnni", AVX2, ""}, {AVX2, "avxvnni", AVX2, ""}, {AVX2, "avx2", Generic, ""}, {Generic, "avx512", Generic, ""},
		{NEON, "", NEON, ""}, {NEON, "avx2,avx512", NEON, ""}, {NEON, "neon", Generic, ""}, {AVX512, "neon", AVX512, ""},
		{AVX512, "sse", AVX512, unknown + "\"sse\", want avx512, avx2, avxvnni or neon\n"},
		{AVX512, "bogus,avx512,AVX2", AVX2, unknown + "\"bogus\", want avx512, avx2, avxvnni or neon\n" + unknown + "\"AVX2\", want avx512, avx2, avxvnni or neon\n"},
		{Generic, "avx512 avx2", Generic, unknown + "\"avx512 avx2\", want avx512, avx2, avxvnni or neon\n"},
	} {
		var warnings strings.Builder
		assert.Equal(t, c.want, allowed(c.have, c.disabled, &warnings), "%v without %q", c.have, c.disabled)
		assert.Equal(t, c.warnings, warnings.String(), "%v without %q", c.have, c.disabled)
	}
}

// TestUnknownTierIsNoticed starts this program once more, with a name that is no tier.
//
//ci:slow
func TestUnknownTierIsNoticed(t *testing.T) {
	switch runtime.GOOS {
	case "js", "wasip1":
		t.Skip("WebAssembly starts no programs")
	}
	program, err := os.Executable()
	require.NoError(t, err)
	for value, want := range map[string]string{
		"bogus":            "randfeat: RANDFEAT_DISABLE: unknown tier \"bogus\", want avx512, avx2, avxvnni or neon\n",
		"avx2,neon,avx512": "",
	} {
		var warnings strings.Builder
		c := exec.Command(program, "-test.run=^TestNames$")
		c.Env = append(os.Environ(), disable+"="+value)
		c.Stderr = &warnings
		require.NoError(t, c.Run())
		assert.Equal(t, want, warnings.String())
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"generic", "avx2", "avx512", "neon"}, []string{Generic.String(), AVX2.String(), AVX512.String(), NEON.String()})
}

func TestTiers(t *testing.T) {
	tiers := Tiers()
	assert.Equal(t, Generic, tiers[0])
	assert.Equal(t, Best, tiers[len(tiers)-1])
	assert.IsIncreasing(t, append([]Tier{-1}, tiers...))
}
