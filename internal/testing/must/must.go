// Package must turns an error of a test's preparations into a panic.
package must

// Have returns v, and panics if there is an error:
//
//	w := must.Have(orf.Draw[float64](orf.IID{}, m, d, src))
func Have[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// Err returns the error of a call.
func Err[V any](_ V, err error) error { return err }
