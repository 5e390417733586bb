package vecmath

func outerReference[T Float](s []T, stride int, a, b, x, y []T) {
	for i, v := range a {
		row := s[i*stride:][:len(x)]
		addScaledReference(row, x, v)
		addScaledReference(y, row, b[i])
	}
}

func decayOuterReference[T Float](s []T, stride int, d, a, b, x, y []T) {
	for i, v := range a {
		row := s[i*stride:][:len(x)]
		for j := range row {
			row[j] *= d[i]
		}
		addScaledReference(row, x, v)
		addScaledReference(y, row, b[i])
	}
}

func sumRowsReference[T Float](s []T, stride int, b, y []T) {
	for i, v := range b {
		addScaledReference(y, s[i*stride:][:len(y)], v)
	}
}
