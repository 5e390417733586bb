package performer

import "github.com/seed-feabd252/randfeat/internal/vecmath"

// mergeFeatures adds the sums of features lo ≤ f < hi of other, whose keys come
// after those of acc, to acc. Calls for different features may run at once.
func (acc *accumulator[T]) mergeFeatures(other *accumulator[T], lo, hi int) {
	sums, more := acc.sums(), other.sums()
	if acc.ref == nil {
		addRows(sums, more, lo, hi)
		return
	}
	for f := lo; f < hi; f++ {
		factor := T(1)
		if n, old := other.ref.exponent[f], acc.ref.exponent[f]; n > old {
			if old != none {
				vecmath.Scale(sums.Row(f), lowering[T](old, n))
			}
			acc.ref.set(f, n)
		} else if n != none {
			factor = lowering[T](n, old)
		}
		vecmath.AddScaled(sums.Row(f), more.Row(f), factor)
	}
}
