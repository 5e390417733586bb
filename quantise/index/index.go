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

// Index holds vectors, the rows of R^d, by ids of the user. New and Read return an Index.
//
// Goroutines may share an Index. A method that changes an Index waits for other changes, and
// publishes all rows of the call at once. Search, Within and Write work on the rows that the Index
// had when the method began, and never wait for a change. A method that returns an error has not
// changed the Index.
type Index[K ID, T dense.Float] interface {
	// Len returns the number of rows.
	Len() int

	// Contains reports whether the Index has a row of the given id.
	Contains(id K) bool

	// Add copies the rows of an n×d matrix into the Index, under n ids. Add encodes the rows as
	// quantise.Codes.Append does, and copies one bit for each row in the Index. The call that
	// brings the Index to 4d rows also learns a quantiser, as quantise.Learn does.
	//
	// Add returns an error that names an id if the Index contains the id, if ids contains the id
	// twice, or if the row of the id holds NaN or ±Inf or has a norm that is neither 0 nor between
	// 2⁻⁹⁹ and 2⁹⁹. Add returns an error if ids and rows differ in number, if the matrix does not
	// have d columns, and if ctx ends. Add panics if ctx is nil.
	Add(ctx context.Context, ids []K, rows dense.Matrix[T]) error

	// Put adds rows as Add does, and replaces the rows of ids that the Index contains. A search
	// finds either the old row or the new row of an id.
	Put(ctx context.Context, ids []K, rows dense.Matrix[T]) error

	// Delete deletes the rows of the given ids that the Index contains, and returns the number of
	// deleted rows. Deleted rows take memory until Compact, or until more than half of the rows in
	// memory are deleted: Delete and Put then copy the codes of the remaining rows.
	Delete(ids ...K) int

	// Compact frees the memory of deleted rows. An Index with Options.KeepRows, without
	// Options.Quantiser and with at least 4d rows also learns a quantiser from the present rows and
	// encodes all rows anew. Call Compact if later rows are large in other directions than the
	// first 4d rows. Compact returns an error if ctx ends, and panics if ctx is nil.
	Compact(ctx context.Context) error

	// Search returns the k rows with the largest inner products or cosines with the query (d
	// numbers), or with the smallest squared distances, best first. Search returns all rows if the
	// Index has fewer than k. Rows of equal values are in the order in which Add or Put added the
	// rows. Search reads all codes once, and twice for exact values.
	//
	// Search returns exact values if the Index keeps rows, has learnt no quantiser yet, or if
	// SearchOptions.Rows is set, and misses one of the k rows with at most the probability
	// SearchOptions.Miss. Otherwise Search returns estimates from codes, with standard errors.
	//
	// Search returns an error if the query does not have d numbers, holds NaN or ±Inf or has a norm
	// that is neither 0 nor between 2⁻⁹⁹ and 2⁹⁹. Search returns an error if k < 0, if Miss is not
	// in [0, 1), if ctx ends, or if SearchOptions.Rows fails. Search panics if ctx is nil.
	Search(ctx context.Context, query []T, k int, o *SearchOptions[K, T]) ([]Hit[K], error)

	// Within returns all rows whose inner product or cosine with the query (d numbers) is at least
	// limit, or whose squared distance from the query is at most limit, best first. Within misses a
	// row that reaches the limit with at most the probability SearchOptions.Miss. Within reads all
	// codes once.
	//
	// Where Search returns exact values, Within returns exact values of the rows that reach the
	// limit. Elsewhere Within returns estimates of all rows that may reach the limit, by the bounds
	// Low and High. Within returns an error if limit is NaN, and where Search does for the query,
	// the options and ctx. Within panics if ctx is nil.
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

	// Quantiser encodes the rows if Quantiser is not nil. Quantiser is a result of quantise.Learn,
	// of quantise.New or of WithCentres, and Options.Bits must be 0 beside a Quantiser. If
	// Quantiser is nil, an Index of rows of R^d keeps the rows until the Index has 4d rows, and
	// then takes the result of quantise.Learn for these rows. Set Quantiser to a result of
	// quantise.New if d is in the thousands, because quantise.Learn takes d³ operations.
	Quantiser quantise.Quantiser[T]
}

// SearchOptions selects rows of a search, and the way to rank rows. A nil *SearchOptions stands for
// the zero SearchOptions.
type SearchOptions[K ID, T dense.Float] struct {
	// Accept reports whether a search may return the row of an id. Nil accepts all rows. A search
	// calls Accept for few rows, possibly twice for a row, and from several goroutines.
	Accept func(id K) bool

	// Rows writes the rows of the given ids into dst, which is len(ids)×d, from a file or a
	// database, so that an Index without Options.KeepRows finds exact values. A search calls Rows
	// from one goroutine, and returns an error of Rows.
	Rows func(dst dense.Matrix[T], ids []K) error

	// Miss is the probability, over random rotations, with which Search with exact values misses
	// one of the best rows, and Within misses a row that reaches the limit. The value of a row is
	// below Hit.Low with at most the probability Miss, and above Hit.High likewise. Zero means
	// 0.001. The probabilities hold for rows like those from which the quantiser was learnt.
	Miss float64
}

// Hit is a row in the result of a search: the id of the row, and the Estimate of the measure of the
// row and the query. An exact value has a StdErr of 0, and equals Low and High.
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
	} else if in, _ := q.Dims(); in != d {
		return nil, fmt.Errorf("index: Quantiser is for rows of R^%d, want R^%d", in, d)
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
