// Package dense holds Matrix, the row-major view that every package of this
// module passes on.
//
// A Matrix[T] is a plain struct: r rows, c columns, a slice and a stride, so
// that element (i, j) is Data[i*Stride+j]. Rows are samples (tokens, points),
// columns are coordinates (features). Because rows need not be adjacent, row
// ranges and column blocks are views that cost nothing: head h of an L×(H·d)
// matrix is m.ColRange(h*d, (h+1)*d).
//
// For float64 the fields are those of gonum's blas64.General in their order, so a
// *mat.Dense converts in place,
//
//	x := dense.Matrix[float64](m.RawMatrix()) // shares m's memory
//
// and FromMat and ToMat do that wherever layout and element type allow. For float32
// they are not: blas32.General has its own order, of which no Go conversion makes
// another. FromBLAS32 and ToBLAS32 move the fields, without a copy of the elements.
//
// # Conventions
//
// Functions of this module take dst first, write all of it and return it. A
// dst that is the zero Matrix means "allocate": Ensure implements the rule.
// Unless a function says otherwise, dst may be exactly its input (same data,
// same stride) or disjoint from it, never shifted against it.
//
// A shape that does not fit is a programming error and panics with both
// shapes, as gonum's mat.ErrShape does. So does a Matrix whose fields describe no view
// of its Data, such as one with a Stride below Cols; Matrix.Check has the words.
package dense
