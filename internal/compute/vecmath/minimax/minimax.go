// Package minimax has the constants of the elementary functions of package vecmath, for the
// generators of its assembly and for its reference.
package minimax

type Constants struct{ Single, Double []float64 }

// Constants as sums: each term is the rounded difference from the terms before.
var (
	Ln2 = Constants{
		[]float64{0x1.62e43p-1, -0x1.05c61p-29},
		[]float64{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56},
	}
	HalfPi = Constants{
		[]float64{0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50},
		[]float64{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110},
	}
)

// Polynomials, from the lowest coefficient on. Minimax errors are for float32 and for float64.
var (
	// Exp is (e^r − 1 − r)/r² for |r| ≤ 1.001·½ln 2; errors of e^r are 2^−28 and 2^−58.
	Exp = Constants{
		[]float64{0.5, 0.16666515171527863, 0.04166657477617264, 0.008369270712137222, 0.0013924083905294538},
		[]float64{0.5000000000000013, 0.166666666666667, 0.04166666666651432, 0.008333333333307014, 0.0013888888947331042,
			0.00019841269917801008, 2.4801489590691812e-05, 2.7557215925045976e-06, 2.7631413764627014e-07, 2.511798098127451e-08},
	}
	// Log1p is (log(1 + f) − f + f²/2 − s·f²/2)/(s·z) for f = 2s/(1 − s), z = s² and |s| ≤ 0.1734;
	// errors 2^−36 and 2^−58.
	Log1p = Constants{
		[]float64{0.6666666269302368, 0.400003582239151, 0.2853582501411438, 0.23611825704574585},
		[]float64{0.6666666666666745, 0.3999999999933569, 0.2857142876146652, 0.22222196475273095, 0.18183680006751357, 0.15310934189568964, 0.1482858449976831},
	}
	// Sine is (sin r − r)/r³ and Cosine is (cos r − 1 + r²/2)/r⁴ as functions of r², minimax
	// relative to sin r and cos r for |r| ≤ ¼π + 0.012 and ¼π + 2^−20; errors below 2^−27 and
	// 2^−57.
	Sine = Constants{
		[]float64{-0.16666653752326965, 0.00833209976553917, -0.00019506498938426375},
		[]float64{-0.1666666666666663, 0.008333333333322118, -0.00019841269829589428, 2.7557313621345438e-06, -2.5050747756332126e-08, 1.5896229767405e-10},
	}
	Cosine = Constants{
		[]float64{0.04166664183139801, -0.0013887216337025166, 2.4421704438282177e-05},
		[]float64{0.041666666666666595, -0.0013888888888873056, 2.480158728885158e-05, -2.7557314179258925e-07, 2.08757008367154e-09, -1.1358536243065947e-11},
	}
)
