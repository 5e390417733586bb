// Package conformance checks that an implementation of kernels.Kernel, rff.Map or orf.Projection
// keeps the contract of that interface: the suites that this module's own implementations pass, for
// the tests of yours.
//
//	func TestMine(t *testing.T) {
//		if err := conformance.Map(mine, points); err != nil {
//			t.Error(err)
//		}
//	}
//
// Each suite calls the implementation, also with arguments that it must refuse, and returns all
// that it found in one error, nil for nothing. It tells whether the code is right, not whether an
// estimate is good: for that see Bias and Variance of package validate. The same arguments give the
// same findings.
package conformance
