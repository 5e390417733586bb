// Package limittest tells tests whether sizes that no memory holds are errors.
package limittest

import (
	"fmt"
	"strings"
	"testing"
)

// Memory returns a check of what a constructor of a package returns. The check takes how the error
// goes on after the name of the package, as a format, and fails unless there is such an error that
// ends with the memory that it takes and the most that there may be:
//
//	memory := limittest.Memory(t, "rff")
//	memory("d = %d: ", n)(rff.Draw[T](rff.Identity{D: n}, nil))
func Memory(t testing.TB, name string) func(format string, args ...any) func(_ any, err error) {
	return func(format string, args ...any) func(any, error) {
		want := name + ": " + fmt.Sprintf(format, args...)
		return func(_ any, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), " of memory, want at most ") {
				t.Errorf("the error is %v, want %q and the memory", err, want)
			}
		}
	}
}
