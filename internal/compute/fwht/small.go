package fwht

func transform4[T Float](x []T) {
	x = x[:4]
	a, b, c, d := x[0]+x[1], x[0]-x[1], x[2]+x[3], x[2]-x[3]
	x[0], x[1], x[2], x[3] = a+c, b+d, a-c, b-d
}

func transform8[T Float](x []T) {
	x = x[:8]
	a, b, c, d := x[0]+x[1], x[0]-x[1], x[2]+x[3], x[2]-x[3]
	e, f, g, h := x[4]+x[5], x[4]-x[5], x[6]+x[7], x[6]-x[7]
	a, b, c, d = a+c, b+d, a-c, b-d
	e, f, g, h = e+g, f+h, e-g, f-h
	x[0], x[1], x[2], x[3] = a+e, b+f, c+g, d+h
	x[4], x[5], x[6], x[7] = a-e, b-f, c-g, d-h
}
