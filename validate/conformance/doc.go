// Package conformance checks whether an implementation of kernels.Kernel, rff.Map or orf.Projection
// keeps the contract of the interface. The tests of this module run the same checks.
//
//	func TestMine(t *testing.T) {
//		if err := conformance.Map(mine, points); err != nil {
//			t.Error(err)
//		}
//	}
//
// Each check calls the implementation, also with arguments that it must refuse. It returns all
// faults in one error, or nil. The checks find errors in code, not inaccurate estimates: for these
// use Measure of package validate. The same arguments give the same faults, with one exception:
// whether shared memory changes the result of concurrent calls depends on their timing. Therefore
// also run the checks with go test -race, which finds shared memory in any case.
package conformance
