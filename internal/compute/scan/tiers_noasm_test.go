//go:build (!amd64 && !arm64) || purego || noasm

package scan

import "testing"

func everyTier(t *testing.T, f func(t *testing.T)) { t.Run("tier=generic", f) }
