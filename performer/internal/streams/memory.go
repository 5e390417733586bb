package streams

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
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

	// Record returns the header of the encoded memory.
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

// Saved holds what a Memory needs to return to an earlier number of tokens.
type Saved[T dense.Float] struct {
	// Copies of sums.
	sums  []sums.Accumulator[T]
	rows  [][]T
	count int

	// Last is the number of the call that appended the last token, see Arrivals. It is for memories
	// of all keys.
	Last uint64

	// Recent holds the keys and values of tokens without codes. It is for memories of codes.
	Recent []T
}

// Record is the header of the encoded memory of a run of heads.
type Record struct {
	Flags, Features int
	Scale           float64
}

// Flags of a Record.
const (
	FlagUnnormalised = 1 << iota
	flagLogarithms
	FlagKeys
	_ // landmarks
	_ // exact weights of last tokens
	flagPlaces
	_ // clusters
	FlagCodes
)

// RecordSize is the number of bytes of a Record.
const RecordSize = 24

// Append appends the record for the given number of heads of queries.
func (r Record) Append(b []byte, heads int) []byte {
	for _, n := range [...]int{r.Flags, heads, r.Features, 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Scale))
}

// Check returns an error unless b begins with the record for the given number of heads of queries.
func (r Record) Check(b []byte, heads int) error {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	if flags := word(0); flags != uint32(r.Flags) {
		return fmt.Errorf("performer: state with flags %#x, want %#x (1 unnormalised, 2 log-features, 4 keys and values, 32 places, 128 codes)", flags, r.Flags)
	}
	for i, want := range [...]frame.Word{{Name: "heads of an attention", Value: heads}, {Name: "m", Value: r.Features}, {Name: "reserved word"}} {
		if got := word(i + 1); got != uint32(want.Value) {
			return fmt.Errorf("performer: state with %s = %d, want %d", want.Name, got, want.Value)
		}
	}
	if scale := math.Float64frombits(binary.LittleEndian.Uint64(b[16:])); scale != r.Scale {
		return fmt.Errorf("performer: state with scale = %v, want %v", scale, r.Scale)
	}
	return nil
}

// rowsIn returns the n rows of data from row number from on, with the given number of columns.
func rowsIn[T dense.Float](data []T, from, n, cols int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: n, Cols: cols, Data: data[from*cols : (from+n)*cols], Stride: cols}
}

// rowsOfHeads returns the only row of x as a matrix with a row for each head.
func rowsOfHeads[T dense.Float](x dense.Matrix[T], heads int) dense.Matrix[T] {
	return rowsIn(x.Data, 0, heads, x.Cols/heads)
}
