package layout

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

type Tokens[T dense.Float] struct{ points, values scratch.Buffer[T] }

var tokens pool.Pair[Tokens[float32], Tokens[float64]]

// TokensOf returns n×d points and n×dv values with undefined elements, and their memory for
// Release.
func TokensOf[T dense.Float](n, d, dv int) (m *Tokens[T], points, values dense.Matrix[T]) {
	m = pool.Get[Tokens[T]](&tokens)
	m.points.Shape(n, d)
	m.values.Shape(n, dv)
	return m, m.points.Rows(n), m.values.Rows(n)
}

func (m *Tokens[T]) Release() {
	if m != nil {
		pool.Put(&tokens, m)
	}
}

// ValidOnly returns the valid rows of k and v. They are k and v if valid is nil, views if all valid
// rows precede the others, and otherwise copies, whose memory the caller releases. copies is nil if
// ValidOnly copies nothing.
func ValidOnly[T dense.Float](k, v dense.Matrix[T], valid []bool) (keys, values dense.Matrix[T], copies *Tokens[T]) {
	if valid == nil {
		return k, v, nil
	}
	n := Count(valid)
	if Count(valid[:n]) == n {
		return k.RowRange(0, n), v.RowRange(0, n), nil
	}
	copies, keys, values = TokensOf[T](n, k.Cols, v.Cols)
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

func Count(valid []bool) int {
	n := 0
	for _, counts := range valid {
		if counts {
			n++
		}
	}
	return n
}
