package layout

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// NoRow stands for no row in a list of rows.
const NoRow = -1

func IsZero[T dense.Float](x []T) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// Consecutive reports whether the row numbers are consecutive, and returns the first number.
func Consecutive(rows []int) (from int, ok bool) {
	if len(rows) == 0 {
		return 0, true
	}
	for at, row := range rows {
		if row != rows[0]+at || row == NoRow {
			return 0, false
		}
	}
	return rows[0], true
}

// Gather copies rows of m into b, and returns the copy. NoRow means a row of zeros.
func Gather[T dense.Float](b *scratch.Buffer[T], m dense.Matrix[T], rows []int) dense.Matrix[T] {
	b.Shape(len(rows), m.Cols)
	gathered := b.Rows(len(rows))
	for at, row := range rows {
		if row == NoRow {
			clear(gathered.Row(at))
		} else {
			copy(gathered.Row(at), m.Row(row))
		}
	}
	return gathered
}

func Rows[T dense.Float](m dense.Matrix[T], at []int) dense.Matrix[T] {
	rows := dense.New[T](len(at), m.Cols)
	for i, from := range at {
		copy(rows.Row(i), m.Row(from))
	}
	return rows
}
