package streams

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// Memory holds the tokens of some heads with the same attention.
type Memory[T dense.Float] interface {
	// Append appends at least one token.
	Append(k, v dense.Matrix[T])

	// Attend computes the outputs of queries over all tokens, at least one.
	Attend(dst, q dense.Matrix[T])

	// Step appends at least one token, and computes the output of each over the tokens up to it.
	Step(dst, q, k, v dense.Matrix[T])

	Reset()
	Clone() Memory[T]

	// Check returns an error unless other can be merged.
	Check(other Memory[T]) error
	Merge(other Memory[T])

	Save(to *Saved[T])
	Holds(from *Saved[T], tokens int) bool
	Restore(from *Saved[T], tokens int)

	// Record returns the header of the encoded memory, which is not part of it.
	Record() Record

	// Size returns the number of bytes of a memory of so many tokens: fixed bytes, and token bytes for
	// each token. A sum beyond frame.MaxTokens may be frame.MaxTokens.
	Size(tokens int) (fixed, token int)

	Encode(b []byte) []byte

	// Inspect returns an error unless Decode can read the first bytes of b. rest is b after these
	// bytes.
	Inspect(b []byte, tokens int) (rest []byte, err error)

	// Decode sets the memory to the encoded memory, and returns the bytes after it.
	Decode(b []byte, tokens int) (rest []byte)
}

// Source is attention of another package that has a Memory.
type Source[T dense.Float] interface {
	// NewMemory returns an empty Memory of the given numbers of heads of queries and of keys, for
	// points of dimension d and values of dimension dv, all at least 1.
	NewMemory(heads, keyHeads, d, dv int) (Memory[T], error)
}

// Saved holds what a Memory needs to return to an earlier number of tokens.
type Saved[T dense.Float] struct {
	// Copies of sums.
	sums   []sums.Accumulator[T]
	rows   [][]T
	count  int
	beyond bool

	// Last is the number of the call that appended the last token, see Arrivals. It is for memories
	// of all keys.
	Last uint64

	// Recent holds the keys and values of tokens without codes. It is for memories of codes.
	Recent []T
}

// rowsIn returns the n rows of data from row number from on, with the given number of columns.
func rowsIn[T dense.Float](data []T, from, n, cols int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: n, Cols: cols, Data: data[from*cols : (from+n)*cols], Stride: cols}
}

// rowsOfHeads returns the only row of x as a matrix with a row for each head.
func rowsOfHeads[T dense.Float](x dense.Matrix[T], heads int) dense.Matrix[T] {
	return rowsIn(x.Data, 0, heads, x.Cols/heads)
}
