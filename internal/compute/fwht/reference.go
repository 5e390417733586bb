package fwht

// reference defines every other implementation: the stages h = 1, 2, 4, … give the expression of
// each element of the result. Two stages share a pass over x. This halves the memory traffic and
// changes no expression.
func reference[T Float](x []T) {
	h := 1
	for ; h*2 < len(x); h *= 4 {
		for base := 0; base < len(x); base += 4 * h {
			twoStages(x[base:base+h], x[base+h:base+2*h], x[base+2*h:base+3*h], x[base+3*h:base+4*h])
		}
	}
	if h < len(x) {
		stage(x[:h], x[h:])
	}
}

func twoStages[T Float](a, b, c, d []T) {
	b, c, d = b[:len(a)], c[:len(a)], d[:len(a)]
	for i := range a {
		aPlusB, aMinusB := a[i]+b[i], a[i]-b[i]
		cPlusD, cMinusD := c[i]+d[i], c[i]-d[i]
		a[i], b[i] = aPlusB+cPlusD, aMinusB+cMinusD
		c[i], d[i] = aPlusB-cPlusD, aMinusB-cMinusD
	}
}

func stage[T Float](a, b []T) {
	b = b[:len(a)]
	for i := range a {
		a[i], b[i] = a[i]+b[i], a[i]-b[i]
	}
}
