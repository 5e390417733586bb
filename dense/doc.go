// Package dense holds Matrix, the row-major view that all packages of this module take and return,
// and Tensor, the view of the heads of many sequences. Rows of a Matrix are samples (tokens,
// points), columns are coordinates (features). Methods RowRange and ColRange return views of ranges
// of rows and of columns. Head h of an L×(H·d) matrix is m.ColRange(h*d, (h+1)*d). The fields of
// Matrix[float64] are the fields of gonum's blas64.General, in the same order: a *mat.Dense
// converts in place,
//
//	x := dense.Matrix[float64](m.RawMatrix()) // shares m's memory
//
// Package dense/gonum converts other matrices of gonum, and package dense/half numbers of 16 bits.
//
// Functions of this module take dst first, write all elements of dst and return dst. If dst is the
// zero Matrix, functions allocate dst, by Ensure. Unless a function says otherwise, dst may be
// exactly the input (same data, same stride) or disjoint from the input, and must not overlap the
// input in another way. A shape that does not fit is a programming error, and functions panic with
// both shapes. Functions also panic for a Matrix whose fields do not describe a view of its Data,
// such as a Stride below Cols. Matrix.Check lists the conditions.
package dense
