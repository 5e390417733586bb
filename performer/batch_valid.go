package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/scratch"
)

// validRows is memory for the keys and values that count.
type validRows[T dense.Float] struct{ k, v scratch.Buffer[T] }

// validOnly returns the rows of k and v that are valid, one after another: k and v
// themselves if valid is nil, views if these rows come first, and otherwise copies, in
// memory that is the caller's to give back.
func validOnly[T dense.Float](k, v dense.Matrix[T], valid []bool) (keys, values dense.Matrix[T], copies *validRows[T]) {
	if valid == nil {
		return k, v, nil
	}
	n := count(valid)
	if count(valid[:n]) == n {
		return k.RowRange(0, n), v.RowRange(0, n), nil
	}
	copies = pool.Get[validRows[T]](&validRowsPool)
	copies.k.Shape(n, k.Cols)
	copies.v.Shape(n, v.Cols)
	keys, values = copies.k.Rows(n), copies.v.Rows(n)
	at := 0
	for j, counts := range valid {
		if counts {
			copy(keys.Row(at), k.Row(j))
			copy(values.Row(at), v.Row(j))
			at++
		}
	}
	return keys, values, copies
}

// count returns how many are true.
func count(valid []bool) int {
	n := 0
	for _, counts := range valid {
		if counts {
			n++
		}
	}
	return n
}

var validRowsPool pool.Both[validRows[float32], validRows[float64]]
