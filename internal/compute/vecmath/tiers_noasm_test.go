//go:build (!amd64 && !arm64) || purego || noasm

package vecmath

import "testing"

// everyTier runs f on the reference, which is all there is.
func everyTier(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name+"/tier=generic", f)
}
