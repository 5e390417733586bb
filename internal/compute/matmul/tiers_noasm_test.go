//go:build (!amd64 && !arm64) || purego || noasm

package matmul

import "testing"

// everyTier runs f as a subtest.
func everyTier(t *testing.T, f func(t *testing.T)) { t.Run("tier=generic", f) }
