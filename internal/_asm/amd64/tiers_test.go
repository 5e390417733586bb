package amd64

import "testing"

func TestCheckTiers(t *testing.T) {
	const narrow = "// Requires: AVX, AVX2\nTEXT ·sumF32AVX2(SB), NOSPLIT, $0-8\n\tVADDPS  Y15, Y1, Y2\n\tRET\n"
	for _, good := range []string{
		"", narrow,
		narrow + "// Requires: AVX512F\nTEXT ·sumF32AVX512(SB), NOSPLIT, $0-8\n\tVADDPS Z1, Z16, K1, Z2\n",
		"// Requires: AVX512F\nTEXT ·sumF32AVX512(SB), NOSPLIT, $0-8\n\tVADDPS Z1, Z16, Z2\n\n" + narrow,
	} {
		if err := CheckTiers(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"TEXT ·sumF32AVX2(SB), NOSPLIT, $0-8\n\tVADDPS Y16, Y1, Y2\n",
		"TEXT ·sumF32AVX2(SB), NOSPLIT, $0-8\n\tVMOVUPS (AX), X31\n",
		"TEXT ·sumF32AVX2(SB), NOSPLIT, $0-8\n\tKMOVW AX, K1\n",
		"// Requires: AVX, AVX512VL\nTEXT ·sumF32AVX2(SB), NOSPLIT, $0-8\n\tRET\n",
		"TEXT ·cpuid(SB), NOSPLIT, $0-8\n\tVPXORD Z0, Z0, Z0\n",
	} {
		if CheckTiers(bad) == nil {
			t.Errorf("nothing is found in %q", bad)
		}
	}
}
