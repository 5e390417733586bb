// Package conformance checks that an implementation of kernels.Kernel, rff.Map or orf.Projection
// keeps the contract of that interface. It exports the tests that this module runs on its own
// implementations, to run on yours.
//
//	func TestMine(t *testing.T) {
//		if err := conformance.Map(mine, points); err != nil {
//			t.Error(err)
//		}
//	}
//
// Each suite calls the implementation, also with arguments that it must refuse, and returns all
// findings in one error, nil for none. It tells whether the code is right, not whether an estimate
// is good. Measure of package validate tells that. The same arguments give the same findings, but for
// goroutines that share an implementation: whether memory that they share harms a result depends on
// when they run. So run the suites with go test -race too, which finds such memory whatever the results.
package conformance
