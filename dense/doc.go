// Package dense holds Matrix, the row-major view that all packages of this module take and return,
// and Tensor, the view of the heads of many sequences.
//
// A Matrix[T] is a plain struct: rows, columns, a slice and a stride. Element (i, j) is
// Data[i*Stride+j]. Rows are samples (tokens, points), columns are coordinates (features). Rows
// need not be adjacent in memory: ranges of rows and of columns are views, and a view costs
// nothing. Head h of an L×(H·d) matrix is m.ColRange(h*d, (h+1)*d).
//
// The fields of Matrix[float64] are the fields of gonum's blas64.General, in the same order: a
// *mat.Dense converts in place,
//
//	x := dense.Matrix[float64](m.RawMatrix()) // shares m's memory
//
// The fields of gonum's blas32.General have another order, so Go does not convert a
// Matrix[float32] to it. Package dense/gonum does, by ToBLAS32 and FromBLAS32 without a copy, and
// it converts other matrices of gonum. It is a separate package so that this one
// and the transforms on it link no linear algebra.
//
// A Tensor is a view of B×H matrices of one shape, the (B, H, L, d) of attention. In memory it may
// be (B, H, L, d) or (B, L, H, d). Package dense/half converts 16-bit numbers.
//
// # Conventions
//
// Functions of this module take dst first, write all elements of dst and return dst. If dst is the
// zero Matrix, they allocate it; Ensure implements this rule. Unless a function says otherwise, dst
// may be exactly the input (same data, same stride) or disjoint from the input, and must not
// overlap the input in another way.
//
// A shape that does not fit is a programming error, and functions panic with both shapes. Functions
// also panic for a Matrix whose fields do not describe a view of its Data, such as a Stride below
// Cols. Matrix.Check lists the conditions.
package dense
