package orf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
)

// explicitRecipe is a matrix of frequencies.
type explicitRecipe[T dense.Float] struct {
	Frequencies dense.Matrix[T]
	Ensemble    Ensemble // nil for frequencies of FromMatrix
}

func (p *explicit[T]) Recipe() (any, error) { return explicitRecipe[T]{p.w, p.ensemble}, nil }

func (r explicitRecipe[T]) make() (Projection[T], error) {
	if err := checkFrequencies(r.Frequencies); err != nil {
		return nil, err
	}
	return newExplicit(r.Frequencies, r.Ensemble), nil
}

// hadamardRecipe holds the blocks of Hadamard that a file stores.
type hadamardRecipe[T dense.Float] struct {
	D           int
	FixedLength bool
	Signs       archive.Array[int8] // blocks × factors × d', each ±1
	picked[T]
}

// givensRecipe holds the blocks of Givens that a file stores.
type givensRecipe[T dense.Float] struct {
	D           int
	FixedLength bool
	Axes        archive.Array[int] // blocks × N × 2: i and j
	Angles      archive.Array[T]   // blocks × N × 2: cos θ and sin θ
	picked[T]
}

// picked holds the rows and lengths of all blocks: frequency k is Lengths[k] times row Rows[k] of
// the operator of its block.
type picked[T dense.Float] struct {
	Rows    []int
	Lengths []T
}

func (p *structured[T]) Recipe() (any, error) {
	var of picked[T]
	for _, b := range p.blocks {
		of.Rows, of.Lengths = appendInts(of.Rows, b.rows), append(of.Lengths, b.lengths...)
	}
	blocks := len(p.blocks)
	switch e := p.ensemble.(type) {
	case Hadamard:
		r := hadamardRecipe[T]{D: p.d, FixedLength: e.FixedLength, picked: of}
		r.Signs.Shape = []int{blocks, e.Factors, p.order}
		for _, b := range p.blocks {
			r.Signs.Data = appendSigns(r.Signs.Data, b.r.(*hadamard.Rotation[T]), e.Factors)
		}
		return r, nil
	case Givens:
		r := givensRecipe[T]{D: p.d, FixedLength: e.FixedLength, picked: of}
		r.Axes.Shape = []int{blocks, e.Rotations, 2}
		r.Angles.Shape = r.Axes.Shape
		for _, b := range p.blocks {
			r.appendTurns(b.r.(planar[T]).p)
		}
		return r, nil
	}
	panic(fmt.Sprintf("orf: blocks of %v", p.ensemble))
}

func (r hadamardRecipe[T]) make() (Projection[T], error) {
	s := r.Signs
	if len(s.Shape) != 3 || s.Shape[1] < 1 {
		return nil, fmt.Errorf("orf: signs of shape %v, want blocks × factors × order", s.Shape)
	}
	factors, order := s.Shape[1], s.Shape[2]
	return r.stack(r.D, order, s.Shape[0], Hadamard{FixedLength: r.FixedLength, Factors: factors}, func(block int) (operator[T], error) {
		return rotation[T](r.D, factors, order, s.Data[block*factors*order:])
	})
}

func (r givensRecipe[T]) make() (Projection[T], error) {
	shape := r.Axes.Shape
	if len(shape) != 3 || shape[2] != 2 || !slices.Equal(shape, r.Angles.Shape) {
		return nil, fmt.Errorf("orf: axes of shape %v, angles %v, want blocks × rotations × 2", shape, r.Angles.Shape)
	}
	n := shape[1]
	return r.stack(r.D, r.D, shape[0], Givens{FixedLength: r.FixedLength, Rotations: n}, func(block int) (operator[T], error) {
		p, err := product(r.D, r.Axes.Data[block*n*2:(block+1)*n*2], r.Angles.Data[block*n*2:(block+1)*n*2])
		return planar[T]{p}, err
	})
}

// stack returns the projection of R^d in blocks of order rows with these operators.
func (r picked[T]) stack(d, order, blocks int, e Ensemble, operator func(block int) (operator[T], error)) (Projection[T], error) {
	m := len(r.Rows)
	switch {
	case m < 1 || m != len(r.Lengths):
		return nil, fmt.Errorf("orf: %d rows and %d lengths, want as many, and at least 1", m, len(r.Lengths))
	case d < 1 || order < d:
		return nil, fmt.Errorf("orf: d = %d, want 1 to %d", d, order)
	case blocks != blocksOf(m, order):
		return nil, fmt.Errorf("orf: %d rows in %d blocks of %d", m, blocks, order)
	}
	if err := argument.FiniteAll("orf: lengths", r.Lengths); err != nil {
		return nil, err
	}
	p := &structured[T]{order: order}
	p.applied = applied[T]{m: m, d: d, ensemble: e, project: p.forward, transpose: p.backward}
	for from := 0; from < m; from += order {
		to := from + min(order, m-from)
		o, err := operator(len(p.blocks))
		if err != nil {
			return nil, fmt.Errorf("orf: %w", err)
		}
		rows, err := rowsOf("rows", r.Rows[from:to], order)
		if err != nil {
			return nil, err
		}
		p.blocks = append(p.blocks, block[T]{r: o, rows: rows, lengths: r.Lengths[from:to:to]})
	}
	return p, nil
}

// rowsOf returns rows as a block holds them. It reports a number that is not below n, and one that
// occurs twice.
func rowsOf(name string, rows []int, n int) ([]int32, error) {
	seen, of := make(map[int]bool, len(rows)), make([]int32, len(rows))
	for i, r := range rows {
		if r < 0 || r >= n || r > math.MaxInt32 || seen[r] {
			return nil, fmt.Errorf("orf: %s have %d, want different numbers from 0 to %d", name, r, n-1)
		}
		seen[r], of[i] = true, int32(r)
	}
	return of, nil
}

// appendInts appends numbers to list.
func appendInts(list []int, numbers []int32) []int {
	for _, n := range numbers {
		list = append(list, int(n))
	}
	return list
}

// The bytes of a rotation and of a product begin with a head of this size. hadamard/codec.go and
// givens/codec.go describe them.
const codecHead = 32

// appendSigns appends the signs of the factors of r.
func appendSigns[T dense.Float](signs []int8, r *hadamard.Rotation[T], factors int) []int8 {
	data, err := r.MarshalBinary()
	if err != nil {
		panic(err) // no rotation of this package has so many factors
	}
	_, order := r.Dims()
	for i := range factors {
		words := data[codecHead+i*((order+63)/64*8):]
		for j := range order {
			signs = append(signs, 1-2*int8(words[j/8]>>(j%8)&1))
		}
	}
	return signs
}

// rotation returns the rotation with the given signs.
func rotation[T dense.Float](d, factors, order int, signs []int8) (*hadamard.Rotation[T], error) {
	signs = signs[:factors*order]
	for i, s := range signs {
		if s != 1 && s != -1 {
			return nil, fmt.Errorf("orf: signs have %d at %d, want 1 or −1", s, i)
		}
	}
	return hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: factors, Order: order}, &replay{signs: signs, order: order})
}

// replay is a source of words that have given signs, those of a factor in words of their own.
type replay struct {
	signs []int8
	order int
	at    int // of the factor
}

func (r *replay) Uint64() (word uint64) {
	n := min(64, r.order-r.at)
	for j, s := range r.signs[:n] {
		if s < 0 {
			word |= 1 << j
		}
	}
	r.signs = r.signs[n:]
	r.at = (r.at + n) % r.order
	return word
}

// appendTurns appends the rotations of p.
func (r *givensRecipe[T]) appendTurns(p *givens.Product[T]) {
	data, err := p.MarshalBinary()
	if err != nil {
		panic(err) // no product of this package is empty
	}
	data = data[codecHead:]
	for range p.Len() {
		i, j := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		r.Axes.Data = append(r.Axes.Data, int(i), int(j))
		angle := make([]T, 2)
		data = frame.ReadElements(angle, data[8:])
		r.Angles.Data = append(r.Angles.Data, angle...)
	}
}

// product returns the product with the given rotations.
func product[T dense.Float](d int, axes []int, angles []T) (*givens.Product[T], error) {
	data := frame.Begin(nil, "rfgivens", 1)
	data = binary.LittleEndian.AppendUint16(data, uint16(frame.ElementSize[T]()))
	data = binary.LittleEndian.AppendUint32(data, 0)
	data = binary.LittleEndian.AppendUint64(data, uint64(d))
	data = binary.LittleEndian.AppendUint64(data, uint64(len(axes)/2))
	for at := 0; at < len(axes); at += 2 {
		for _, axis := range axes[at : at+2] {
			if axis < 0 || axis >= d {
				return nil, fmt.Errorf("orf: axes have %d, want 0 to %d", axis, d-1)
			}
			data = binary.LittleEndian.AppendUint32(data, uint32(axis))
		}
		data = frame.AppendElements(data, angles[at:at+2])
	}
	p := new(givens.Product[T])
	return p, p.UnmarshalBinary(frame.Seal(data, 0))
}
