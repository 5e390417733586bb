// Package conformance checks whether an implementation of kernels.Kernel, rff.Map or orf.Projection
// keeps the contract of the interface. The tests of this module run the same checks.
//
//	func TestMine(t *testing.T) {
//		if err := conformance.Map(mine, points); err != nil {
//			t.Error(err)
//		}
//	}
//
// Each check calls the implementation, also with arguments that it must refuse, and returns all
// faults in one error, or nil. The checks find errors in code, not inaccurate estimates: for these
// use validate.Measure. Whether the checks see memory that concurrent calls share depends on
// timing, so also run the checks with go test -race. Kernel takes O(n³) time for n points. For
// points of R^d, Map takes the time of some 30 + 3·d calls of Transform, and Projection of some 30
// + 3·d calls of Project.
package conformance
