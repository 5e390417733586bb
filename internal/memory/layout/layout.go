// Package layout describes matrices whose rows are the tokens of sequences, one sequence after
// another, and whose columns are heads, one beside another.
package layout

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

func Head[T dense.Float](m dense.Matrix[T], i, n int) dense.Matrix[T] {
	return Heads(m, i, i+1, n)
}

func Heads[T dense.Float](m dense.Matrix[T], from, to, n int) dense.Matrix[T] {
	d := m.Cols / n
	return m.ColRange(from*d, to*d)
}

// CheckHeads returns an error unless heads of queries can read keyHeads heads of keys.
func CheckHeads[T dense.Float](heads, keyHeads int) error {
	if heads < 1 || keyHeads < 1 || heads%keyHeads != 0 {
		return fmt.Errorf("Heads = %d, KeyHeads = %d, want at least 1 and Heads a multiple of KeyHeads", heads, keyHeads)
	}
	if err := limit.Memory[T](heads); err != nil {
		return fmt.Errorf("Heads = %d: %w", heads, err)
	}
	return nil
}

// CheckLengths returns an error unless no length is negative and their sum is rows.
func CheckLengths(lengths []int, rows int) error {
	left := rows
	for i, n := range lengths {
		if n < 0 {
			return fmt.Errorf("has %d at %d, want no negative length", n, i)
		}
		// A sum of lengths may overflow, and the difference does not.
		if left -= n; left < 0 {
			break
		}
	}
	if left != 0 {
		return fmt.Errorf("is %v, want a sum of %d", lengths, rows)
	}
	return nil
}

// Starts appends the first row of each sequence, and the row after the last one, to from. Nil
// lengths stand for one sequence of all rows.
func Starts(from, lengths []int, rows int) []int {
	from = append(from, 0)
	if lengths == nil {
		return append(from, rows)
	}
	for i, n := range lengths {
		from = append(from, from[i]+n)
	}
	return from
}
