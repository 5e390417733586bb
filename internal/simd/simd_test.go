package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		have     Tier
		disabled string
		want     Tier
	}{
		{AVX512, "", AVX512}, {AVX512, "avx512", AVX2}, {AVX512, "avx512,avx2", Generic}, {AVX512, " avx2 ", Generic},
		{AVX2, "avx512", AVX2}, {AVX2, "avx2", Generic}, {Generic, "avx512", Generic}, {AVX512, "sse", AVX512},
	} {
		assert.Equal(t, c.want, allowed(c.have, c.disabled), "%v without %q", c.have, c.disabled)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"generic", "avx2", "avx512"}, []string{Generic.String(), AVX2.String(), AVX512.String()})
}
