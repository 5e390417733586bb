package audit

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// exactBatch returns exact as a Batch of Exacts with as many heads as the approximations, or an
// error if exact is not made of Exacts or an approximation has other heads or options.
func exactBatch[T dense.Float](exact performer.Attention[T], approximations ...performer.Attention[T]) (none performer.Batch[T], _ error) {
	if isNil(exact) {
		return none, errors.New("audit: exact is nil")
	}
	heads, keyHeads := 1, 1
	for i, a := range approximations {
		if isNil(a) {
			return none, fmt.Errorf("audit: approximation %d is nil", i)
		}
		if b, ok := a.(performer.Batch[T]); ok && heads == 1 {
			heads, keyHeads = headsOf(b)
		}
	}
	b, isBatch := exact.(performer.Batch[T])
	if !isBatch {
		if _, ok := exact.(performer.Exact[T]); !ok {
			return none, fmt.Errorf("audit: exact is a %T, want a performer.Exact, or a performer.Batch of Exacts", exact)
		}
		var err error
		if b, err = performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, exact); err != nil {
			return none, fmt.Errorf("audit: %w", err)
		}
	}
	heads, _ = headsOf(b)
	for h := range heads {
		if _, ok := b.Head(h).(performer.Exact[T]); !ok {
			return none, fmt.Errorf("audit: exact has a %T for head %d, want a performer.Exact", b.Head(h), h)
		}
	}
	for i, a := range approximations {
		if err := checkHeads(i, a, b); err != nil {
			return none, err
		}
	}
	return b, nil
}

func checkHeads[T dense.Float](i int, a performer.Attention[T], exact performer.Batch[T]) error {
	wantHeads, wantKeys := headsOf(exact)
	b, isBatch := a.(performer.Batch[T])
	if isBatch {
		if heads, keyHeads := headsOf(b); heads != wantHeads || keyHeads != wantKeys {
			return fmt.Errorf("audit: approximation %d has %d heads of queries and %d of keys, exact has %d and %d, want the same",
				i, heads, keyHeads, wantHeads, wantKeys)
		}
	}
	for h := range wantHeads {
		one := a
		if isBatch {
			one = b.Head(h)
		}
		d, ok := one.(described)
		if !ok {
			continue
		}
		if got, want := d.Describe().Causal, exactOptions(exact, h).Causal; got != want {
			return fmt.Errorf("audit: approximation %d has Causal = %v for head %d, exact has %v, want the same", i, got, h, want)
		}
	}
	return nil
}

func exactOptions[T dense.Float](b performer.Batch[T], head int) performer.ExactOptions {
	return b.Head(head).(performer.Exact[T]).Options()
}

type described interface{ Describe() performer.Description }

func descriptionOf[T dense.Float](a performer.Attention[T]) (d performer.Description) {
	if a, ok := a.(described); ok {
		d = a.Describe()
	}
	return d
}

func headsOf[T dense.Float](b performer.Batch[T]) (heads, keyHeads int) {
	d := b.Describe()
	return d.Heads, d.KeyHeads
}

// repeated returns the rows, and again from the first until there are n.
func repeated(rows []int, n int) []int {
	all := make([]int, max(n, len(rows)))
	for i := range all {
		all[i] = rows[i%len(rows)]
	}
	return all
}

// isNil reports whether a is nil, a nil pointer or attention that no constructor has made.
func isNil[T dense.Float](a performer.Attention[T]) bool {
	v := reflect.ValueOf(a)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	_, ok := a.(described)
	return ok && v.IsZero()
}

func checkShapes[T dense.Float](i int, a performer.Attention[T], exact performer.Batch[T], x input[T]) error {
	q, k, v := x.q, x.k, x.v
	if err := exact.Check(q, k, v, performer.Sequences{}); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	switch a := a.(type) {
	case Output[T]:
		dense.Matrix[T](a).Check()
		heads, keyHeads := headsOf(exact)
		if want := v.Cols / keyHeads * heads; a.Rows != q.Rows || a.Cols != want {
			return fmt.Errorf("audit: approximation %d is an Output of %d×%d, want %d×%d", i, a.Rows, a.Cols, q.Rows, want)
		}
		return nil
	case performer.Batch[T]:
		if err := a.Check(q, k, v, performer.Sequences{}); err != nil {
			return fmt.Errorf("audit: approximation %d: %w", i, err)
		}
		return nil
	}
	if d := descriptionOf(a).Dim; d != 0 && d != q.Cols {
		return fmt.Errorf("audit: q is %d×%d, but approximation %d takes points of R^%d", q.Rows, q.Cols, i, d)
	}
	if exactOptions(exact, 0).Causal && q.Rows != k.Rows {
		return fmt.Errorf("audit: q is %d×%d, k is %d×%d, want as many queries as keys for causal attention", q.Rows, q.Cols, k.Rows, k.Cols)
	}
	return nil
}
