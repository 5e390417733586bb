// Package randfeat is the root of a library for kernel methods, attention and vector search on
// large data: kernels, feature maps, orthogonal frequencies, fast transforms, linear-time
// attention, learning on features, and codes of vectors.
//
// The code is in packages in the folders below: docs/packages.md says what each package is for.
package randfeat

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// Version returns the version of this module, the architecture, and the set of vector instructions
// that the library uses, such as "v0.1.0, amd64, avx512", for bug reports. Version says (devel) in
// a program whose main package is in this module, and generic where the library runs only pure Go.
// RANDFEAT_DISABLE=avx512 in the environment turns off AVX-512 in the library.
func Version() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/seed-feabd252/randfeat" {
				version = m.Version
			}
		}
	}
	return fmt.Sprintf("%s, %s, %v", version, runtime.GOARCH, simd.Best)
}
