package conformance

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
)

type faults []error

func (f *faults) add(format string, args ...any) {
	*f = append(*f, fmt.Errorf("conformance: "+format, args...))
}

func (f *faults) err() error { return errors.Join(*f...) }

type operation[T dense.Float] struct {
	name    string
	in, out int
	call    func(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// check calls the operation in all ways that it must allow and refuse, and returns false if other
// checks cannot use the result.
func (o operation[T]) check(f *faults, x dense.Matrix[T]) (dense.Matrix[T], bool) {
	input := x.Clone()
	y := o.call(dense.Matrix[T]{}, input)
	if y.Rows != x.Rows || y.Cols != o.out {
		f.add("%s of %d×%d is %d×%d, want %d×%d", o.name, x.Rows, x.Cols, y.Rows, y.Cols, x.Rows, o.out)
		return y, false
	}
	y = y.Clone()
	if !same(input, x) {
		f.add("%s writes its argument", o.name)
		return y, false // other faults would follow from this one
	}
	o.checkDestination(f, x, y)
	o.checkRows(f, x, y)
	checkSharing(f, o.name, func(by int) dense.Matrix[T] { return o.call(dense.Matrix[T]{}, rotated(x, by)) })
	o.checkNotFinite(f, x, y)
	o.checkRefusal(f, x)
	return y, true
}

// The elements around dst, a view, must keep their values.
func (o operation[T]) checkDestination(f *faults, x, want dense.Matrix[T]) {
	guard := T(12345)
	wide := dense.New[T](x.Rows+2, o.out+3)
	for i := range wide.Data {
		wide.Data[i] = guard
	}
	view := wide.RowRange(1, x.Rows+1).ColRange(1, o.out+1)
	for i := range view.Rows {
		for j := range view.Row(i) {
			view.Set(i, j, T(math.NaN()))
		}
	}
	got := o.call(view, x)
	if !same(got, want) || !same(view, want) {
		f.add("%s into a view is not %s into a new matrix", o.name, o.name)
	}
	for i := range wide.Rows {
		for j, v := range wide.Row(i) {
			if (i < 1 || i > x.Rows || j < 1 || j > o.out) && v != guard {
				f.add("%s writes beside its destination, at row %d, column %d", o.name, i-1, j-1)
				return
			}
		}
	}
}

func (o operation[T]) checkRows(f *faults, x, want dense.Matrix[T]) {
	if none := o.call(dense.Matrix[T]{}, x.RowRange(0, 0)); none.Rows != 0 {
		f.add("%s of no rows has %d", o.name, none.Rows)
	}
	for _, part := range [][2]int{{0, 1}, {x.Rows - 1, x.Rows}, {x.Rows / 3, x.Rows}} {
		got := o.call(dense.Matrix[T]{}, x.RowRange(part[0], part[1]))
		if !same(got, want.RowRange(part[0], part[1])) {
			f.add("%s of rows %d to %d depends on the other rows", o.name, part[0], part[1]-1)
			return
		}
	}
}

// Every call rotates the rows differently: equal rows would hide memory that goroutines share.
func checkSharing[T dense.Float](f *faults, name string, call func(by int) dense.Matrix[T]) {
	const callers, calls = 4, 4
	var want [callers]dense.Matrix[T]
	for by := range want {
		want[by] = call(by).Clone()
	}
	var results [callers][calls]dense.Matrix[T]
	start := make(chan struct{})
	var done sync.WaitGroup
	for c := range callers {
		done.Go(func() {
			<-start
			for i := range calls {
				results[c][i] = call((c + i) % callers)
			}
		})
	}
	close(start)
	done.Wait()
	for c := range callers {
		for i, got := range results[c] {
			if !same(got, want[(c+i)%callers]) {
				f.add("%s gives another result when it is shared by goroutines", name)
				return
			}
		}
	}
}

func rotated[T dense.Float](x dense.Matrix[T], by int) dense.Matrix[T] {
	y := dense.New[T](x.Rows, x.Cols)
	for i := range y.Rows {
		copy(y.Row(i), x.Row((i+by)%x.Rows))
	}
	return y
}

func (o operation[T]) checkNotFinite(f *faults, x, clean dense.Matrix[T]) {
	row := x.Rows / 2
	for j := range o.in {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			input := x.Clone()
			input.Set(row, j, T(bad))
			got := o.call(dense.Matrix[T]{}, input)
			if finite(got.Row(row)) {
				f.add("%s hides %v in coordinate %d", o.name, bad, j)
				return
			}
			copy(got.Row(row), clean.Row(row))
			if !same(got, clean) {
				f.add("%s: a row with %v in coordinate %d changes others", o.name, bad, j)
				return
			}
		}
	}
}

func (o operation[T]) checkRefusal(f *faults, x dense.Matrix[T]) {
	refuses := func(what string, dst, x dense.Matrix[T]) {
		if !panics(func() { o.call(dst, x) }) {
			f.add("%s does not panic for %s", o.name, what)
		}
	}
	refuses("points of another dimension", dense.Matrix[T]{}, dense.New[T](2, o.in+1))
	refuses("a dst with a column too many", dense.New[T](x.Rows, o.out+1), x)
	refuses("a dst with a row too many", dense.New[T](x.Rows+1, o.out), x)
}

// same reports whether a and b have the same elements, where NaN equals NaN.
func same[T dense.Float](a, b dense.Matrix[T]) bool {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return false
	}
	for i := range a.Rows {
		other := b.Row(i)
		for j, v := range a.Row(i) {
			if w := other[j]; v != w && (v == v || w == w) {
				return false
			}
		}
	}
	return true
}

func finite[T dense.Float](x []T) bool {
	return !slices.ContainsFunc(x, func(v T) bool { return v-v != 0 })
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// normal returns an n×d matrix of normal draws that is the same in every call.
func normal[T dense.Float](n, d int) dense.Matrix[T] {
	return draw[T](n, d, rand.New(rand.NewPCG(uint64(n), uint64(d))))
}

func draw[T dense.Float](n, d int, rng *rand.Rand) dense.Matrix[T] {
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(rng.NormFloat64())
	}
	return x
}

func inner[T dense.Float](x, y []T) float64 {
	var sum float64
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}
