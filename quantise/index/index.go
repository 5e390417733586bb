package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// ID is the type of the ids of rows: a type whose underlying type is int64 or string. Strings may
// hold any bytes.
type ID interface{ ~int64 | ~string }

// Index holds the codes of rows of R^d by the ids of the rows. New and Read return an Index.
//
// Goroutines may share an Index. A method that changes an Index waits for other changes, and
// publishes all rows of the call at once. Search, Within and Write work on the rows that the Index
// had when the method began, and never wait for a change. After an error of a method the Index has
// the rows that the Index had before the call.
type Index[K ID, T dense.Float] interface {
	// Len returns the number of rows.
	Len() int

	// Contains reports whether the Index has a row of the given id.
	Contains(id K) bool

	// Add adds the n rows of a matrix (n×d) with n ids, and costs as much as quantise.Codes.Append,
	// and 1/8 of a byte of copying for each row of the Index. The call that brings the Index to 4d
	// rows costs a call of quantise.Learn more. Add returns an error that names the id if the Index
	// contains the id, if the id is twice in ids, or if the row of the id holds NaN or ±Inf or has
	// a norm that is neither 0 nor between 2⁻⁹⁹ and 2⁹⁹. Add returns an error if the ids and the
	// rows differ in number, if the matrix has not d columns, and if ctx ends. Add panics if ctx is
	// nil.
	Add(ctx context.Context, ids []K, rows dense.Matrix[T]) error

	// Put adds rows as Add does, and replaces the rows of ids that the Index contains. A search
	// finds either the old row or the new row of an id.
	Put(ctx context.Context, ids []K, rows dense.Matrix[T]) error

	// Delete deletes the rows of the given ids, and returns the number of rows that Delete has
	// deleted. A deleted row keeps memory until Compact, or until more than half of all rows in
	// memory are deleted: then Delete and Put copy the codes of the other rows.
	Delete(ids ...K) int

	// Compact frees the memory of deleted rows. If the Index keeps rows, has 4d rows and was made
	// without a Quantiser, Compact calls quantise.Learn for the present rows and encodes all rows
	// anew: call Compact if later rows have other large directions than the first 4d rows. Compact
	// returns an error if ctx ends, and panics if ctx is nil.
	Compact(ctx context.Context) error

	// Search returns the k rows with the largest inner products or cosines with the query (d
	// numbers), or with the smallest squared distances, best first, or all rows if the Index has
	// fewer than k. Rows of equal values are in the order in which Add or Put added the rows.
	// Search reads all codes once, and twice if the Index has the rows themselves.
	//
	// If the Index keeps rows, has fewer than 4d rows or SearchOptions has Rows, values are exact
	// and Search misses one of the k rows with at most the probability SearchOptions.Miss. Otherwise
	// values are estimates from codes, each with a standard error.
	//
	// Search returns an error if the query has not d numbers, holds NaN or ±Inf or has a norm that
	// is neither 0 nor between 2⁻⁹⁹ and 2⁹⁹, if k < 0, if Miss is not in [0, 1), if ctx ends, or if
	// SearchOptions.Rows returns an error. Search panics if ctx is nil.
	Search(ctx context.Context, query []T, k int, o *SearchOptions[K, T]) ([]Hit[K], error)

	// Within returns all rows whose inner product or cosine with the query (d numbers) is at least
	// limit, or whose squared distance from the query is at most limit, best first. Within misses a
	// row that reaches the limit with at most the probability SearchOptions.Miss. Within reads all
	// codes once.
	//
	// If the Index keeps rows, has fewer than 4d rows or SearchOptions has Rows, Within returns
	// exact values, and no row beyond the limit. Otherwise Within returns the rows whose bounds
	// reach the limit, whether or not their values do. Within returns an error if limit is NaN, and
	// an error for the other arguments where Search does.
	Within(ctx context.Context, query []T, limit float64, o *SearchOptions[K, T]) ([]Hit[K], error)

	// Write writes the Index without deleted rows to w, as one safetensors file, which Read reads
	// on any platform. Write takes twice as much memory as the codes, rows and ids of the file.
	// Write returns an error if w is nil, and an error of w.
	Write(w io.Writer) error
}

// Options selects how an Index encodes and compares rows. The zero Options mean inner products and
// 4 bits per number.
type Options[T dense.Float] struct {
	// Measure is the function of a row and a query by which searches rank rows.
	Measure quantise.Measure

	// Bits is the mean number of bits per number of a row, between 1/8 and 8. Zero means 4.
	Bits float64

	// KeepRows keeps the rows in memory and in files, so that searches return exact values.
	KeepRows bool

	// Quantiser encodes the rows, if Quantiser is not nil: a result of quantise.Learn from a
	// sample, of quantise.New or of WithCentres, with Bits of 0. If
	// Quantiser is nil, an Index of rows of R^d keeps the rows until the Index has 4d rows, and
	// takes a quantiser from quantise.Learn for the 4d rows. Give a result of quantise.New if d is
	// in the thousands, where the d³ operations of quantise.Learn take long.
	Quantiser quantise.Quantiser[T]
}

// SearchOptions selects rows of a search, and the way to rank rows. A nil *SearchOptions stands for
// the zero SearchOptions.
type SearchOptions[K ID, T dense.Float] struct {
	// Accept reports whether a search may return the row of an id. Nil accepts all rows. A search
	// calls Accept for few rows, possibly twice for a row, and from several goroutines.
	Accept func(id K) bool

	// Rows writes the rows of the given ids into dst, which is len(ids)×d, from a file or a
	// database, so that an Index that does not keep rows finds exact values. A search calls Rows
	// from one goroutine at a time, and returns an error of Rows.
	Rows func(dst dense.Matrix[T], ids []K) error

	// Miss is the probability that Search with exact values misses one of the best rows, and that
	// Within misses a row that reaches the limit, over random rotations. Zero means 0.001. Miss is
	// also the probability that the value of a row is below Hit.Low, and that the value is above
	// Hit.High.
	Miss float64
}

// Hit is a row in the result of a search: the id of the row, and the Estimate of the measure. The
// StdErr of an exact value is 0, and Low and High are then equal to the value.
type Hit[K ID] struct {
	ID K
	quantise.Estimate
}

// New returns an empty Index of rows of R^d. New draws two uint64 from src for the rotations of
// codes. New returns an error if d < 1, if an option is invalid, if src is nil, or if a rotation
// takes more than 2⁴⁰ bytes.
func New[K ID, T dense.Float](d int, o Options[T], src rand.Source) (Index[K, T], error) {
	if src == nil {
		return nil, errors.New("index: src is nil")
	}
	s := &settings{d, o.Measure, o.Bits, o.KeepRows, [2]uint64{src.Uint64(), src.Uint64()}}
	if err := s.check(); err != nil {
		return nil, err
	}
	q := o.Quantiser
	if q == nil {
		s.bits = cmp.Or(o.Bits, 4)
		var err error
		if q, err = quantise.New[T](d, quantise.Options{Bits: firstBits}, s.source()); err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
	} else if o.Bits != 0 {
		return nil, fmt.Errorf("index: Bits = %v with a Quantiser, want 0", o.Bits)
	} else if err := checkQuantiser(q, d); err != nil {
		return nil, err
	}
	codes, err := q.Encode(context.Background(), dense.New[T](0, d))
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return of(&state[K, T]{settings: s, codes: codes, learnt: o.Quantiser != nil}), nil
}

// firstBits is the number of bits of codes of an index that has not learnt.
const firstBits = 8

// index implements Index.
type index[K ID, T dense.Float] struct {
	*settings
	writing sync.Mutex // held by methods that change the index

	// A method that changes the index publishes both under the lock.
	lock sync.RWMutex
	at   map[K]int // the places of the live rows of now
	now  atomic.Pointer[state[K, T]]
}

func of[K ID, T dense.Float](first *state[K, T]) *index[K, T] {
	x := &index[K, T]{settings: first.settings, at: first.ofIDs()}
	x.now.Store(first)
	return x
}

func (x *index[K, T]) Len() int { return x.now.Load().n }

func (x *index[K, T]) Contains(id K) bool {
	x.lock.RLock()
	defer x.lock.RUnlock()
	_, ok := x.at[id]
	return ok
}
