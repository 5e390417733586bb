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

// ID is a type of ids of rows, whose underlying type is int64 or string of any bytes.
type ID interface{ ~int64 | ~string }

// Index holds the codes of rows of R^d, each row with an id that the user gives.
//
// Goroutines may share an Index. Add, Put, Delete and Compact change an Index one after another,
// and searches see all rows of a call at once. Search, Within and Write work on the rows that the
// Index had when the call began, and never wait for changes of the Index.
//
// A method that returns an error leaves the rows of the Index unchanged.
type Index[K ID, T dense.Float] interface {
	// Len returns the number of rows, without deleted rows.
	Len() int

	// Contains reports whether the Index has a row of the given id.
	Contains(id K) bool

	// Add adds row i of the argument rows (n×d) with the id ids[i] for each i, and takes the time
	// of quantise.Codes.Append and of copying one bit for each row of the Index. The call of Add or
	// Put that brings an Index of R^d made without a Quantiser to 4d rows also calls
	// quantise.Learn, and encodes the rows that the Index has, even if ctx ends meanwhile: a later
	// Add does not learn again. Add returns an error that names an id if the Index contains the id,
	// if the id is twice in ids, or if the row of the id holds NaN or ±Inf or has a norm that is
	// neither 0 nor between 2⁻⁹⁹ and 2⁹⁹. For an Index of R^d, Add returns an error if ids and rows
	// differ in number, if rows has not d columns, and if ctx ends. Add panics if ctx is nil.
	Add(ctx context.Context, ids []K, rows dense.Matrix[T]) error

	// Put adds rows as Add does, but replaces the row of an id that the Index contains. During a
	// Put, a search finds either the old row or the new row of an id.
	Put(ctx context.Context, ids []K, rows dense.Matrix[T]) error

	// Delete deletes the rows of the given ids, and returns the number of deleted rows. Delete and
	// Put free the memory of deleted rows, by a copy of the remaining codes, when more than half of
	// all rows in memory are deleted.
	Delete(ids ...K) int

	// Compact frees the memory of deleted rows. If an Index of R^d keeps rows, has at least 4d rows
	// and was made without a Quantiser, Compact calls quantise.Learn for the present rows and
	// encodes all rows anew: call Compact if later rows are large along other directions than the
	// first 4d rows. Compact returns an error if ctx ends, and panics if ctx is nil.
	Compact(ctx context.Context) error

	// Search returns the k rows with the largest inner products or cosines with the query (d
	// numbers), or with the smallest squared distances from the query, best first, or all rows if
	// the Index has fewer than k. Search orders rows of equal values as they were added. Search
	// reads all codes once for estimates, and twice for exact values.
	//
	// Search returns exact values if the Index keeps rows, if SearchOptions has Rows, and until a
	// call of Add or Put, even one that returns an error because ctx ends, has learnt in an Index
	// of R^d made without a Quantiser. If Search returns exact inner products, cosines or
	// distances, the result lacks one or more of the best k rows with at most the probability
	// SearchOptions.Miss. Values of Search that are not exact are estimates from codes, each with a
	// standard error.
	//
	// For an Index of R^d, Search returns an error if the query has not d numbers, holds NaN or
	// ±Inf or has a norm that is neither 0 nor between 2⁻⁹⁹ and 2⁹⁹, if k < 0, if Miss is not in
	// [0, 1), if ctx ends, or if SearchOptions.Rows returns an error. Search panics if ctx is nil.
	Search(ctx context.Context, query []T, k int, o *SearchOptions[K, T]) ([]Hit[K], error)

	// Within returns all rows whose inner product or cosine with the query (d numbers) is at least
	// the argument limit, or whose squared distance from the query is at most limit, best first.
	// Within misses a row that reaches the limit with at most the probability SearchOptions.Miss.
	// Within reads the codes of all rows once.
	//
	// Where values of Search are exact, Within returns exact values, and only rows that reach the
	// limit. Where Search returns estimates, Within returns estimates of all rows that may reach
	// the limit by the bounds Low and High.
	//
	// Within returns an error if limit is NaN, and the errors of Search for ctx, query and o.
	Within(ctx context.Context, query []T, limit float64, o *SearchOptions[K, T]) ([]Hit[K], error)

	// Write writes the Index without deleted rows to w, as one safetensors file, which Read reads
	// on any platform. Write needs twice the memory of the codes, rows and ids in the file. Write
	// returns an error if w is nil, and each error of writing to w.
	Write(w io.Writer) error
}

// Options selects how an Index encodes and compares rows. With zero Options, an Index ranks rows by
// inner products and encodes a number in 4 bits.
type Options[T dense.Float] struct {
	// Measure is the function of a row and a query by which searches rank rows.
	Measure quantise.Measure

	// Bits is the mean number of bits per number of a row, between 1/8 and 8. Bits of 0 stands for
	// 4.
	Bits float64

	// KeepRows keeps the rows in memory and in files, so that searches return exact values.
	KeepRows bool

	// A Quantiser that is not nil encodes the rows, and requires Bits of 0: a result of
	// quantise.Learn from a sample, of quantise.New or of WithCentres.
	//
	// If Quantiser is nil, an Index of R^d keeps the rows until the Index has 4d rows, and encodes
	// all rows by a quantiser of quantise.Learn from the 4d rows. For rows of R^d with d in the
	// thousands, where the d³ operations of quantise.Learn take long, set Quantiser to a result of
	// quantise.New.
	Quantiser quantise.Quantiser[T]
}

// SearchOptions selects the rows that a search may return, and has the probability that a search
// misses a row, and possibly a function that reads original rows, so that searches return exact
// values. A nil *SearchOptions stands for the zero SearchOptions.
type SearchOptions[K ID, T dense.Float] struct {
	// Accept reports whether a search may return the row with the given id. A nil Accept accepts
	// all rows. A search calls Accept for few rows, possibly twice for a row, and from several
	// goroutines.
	Accept func(id K) bool

	// Rows writes the rows with the given ids into dst, which is len(ids)×d, for exact values. A
	// search calls Rows from one goroutine at a time, and returns each error of Rows.
	Rows func(dst dense.Matrix[T], ids []K) error

	// Miss bounds the probability over random rotations that a Search for exact values misses one
	// or more of the best rows, and that Within misses a row that reaches the limit. Zero means
	// 0.001. Miss also bounds the probability that the true value of a row is below Hit.Low, and
	// the probability that the true value is above Hit.High.
	Miss float64
}

// Hit is a row that a search returns: the id, and the Estimate of the inner product, cosine or
// squared distance. A Hit with an exact Value has a StdErr of 0, and Low and High equal to Value.
type Hit[K ID] struct {
	ID K
	quantise.Estimate
}

// New returns an empty Index of rows of R^d. New draws two uint64 from src, the seed of the random
// rotations that encode rows. New returns an error if d < 1, if an option is invalid, if src is
// nil, or if a rotation matrix takes more than 2⁴⁰ bytes.
func New[K ID, T dense.Float](d int, o Options[T], src rand.Source) (Index[K, T], error) {
	if src == nil {
		return nil, errors.New("index: src is nil")
	}
	s := &fixedSettings{d, o.Measure, o.Bits, o.KeepRows, [2]uint64{src.Uint64(), src.Uint64()}}
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
	} else if in, _ := q.Dims(); in != d {
		return nil, fmt.Errorf("index: Quantiser is for rows of R^%d, want R^%d", in, d)
	}
	codes, err := q.Encode(context.Background(), dense.New[T](0, d))
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return of(&state[K, T]{fixedSettings: s, codes: codes, learnt: o.Quantiser != nil}), nil
}

const firstBits = 8

type index[K ID, T dense.Float] struct {
	*fixedSettings
	writing sync.Mutex // held by methods that change the index

	// A method that changes the index publishes both under the lock.
	lock sync.RWMutex
	at   map[K]int // the places of the live rows of now
	now  atomic.Pointer[state[K, T]]
}

func of[K ID, T dense.Float](first *state[K, T]) *index[K, T] {
	x := &index[K, T]{fixedSettings: first.fixedSettings, at: first.ofIDs()}
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
