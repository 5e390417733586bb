// Package store holds the tokens of a stream of attention.
//
// Tokens close in segments, which never change: tiles of 256 tokens with elements, segments of 64
// with codes, and each token at once in sums of linear attention. Later tokens are open and have
// elements. Segments of codes close when 128 tokens are open, or 64 with a window. So a store
// depends on the tokens, and not on how they are divided into calls.
//
// Segments lie in slabs of 4096 tokens, which do not move, except the first while it grows. Clones
// share slabs. Only the owner of a slab closes segments in it, behind those that others have. A
// store with a window drops slabs that no later query sees, and keeps max(R/16, 64) tokens for
// Rollback if a query sees R tokens before it.
//
// A row of codes is R·x − m with a rotation R, the same in every program, and the mean m of R·x
// over a segment, with a scale and a zero point. Codes of 16 bits are two planes of 8 bits. Rows
// that codes cannot hold have codes of their own, and package tiles computes outputs that are not
// finite again from decoded elements.
//
// Coarse codes of closed segments choose the keys that a query with a TopK reads. Coarse codes
// follow from what a segment holds: files do not have them. Of equal scores the first are taken, so
// that what a query reads does not depend on threads.
//
// docs/attention.md has the formulas, the error of codes and the error of a TopK.
package store
