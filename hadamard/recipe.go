package hadamard

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
)

type rotationRecipe struct {
	D     int
	Order int // d'
	// ⌈d'/64⌉ words a factor, little endian; bit b of word j stands for coordinate 64j + b
	Signs []uint8
}

func init() {
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	registry.Register(map[string]any{"Rotation": rotationRecipe{}}, func(r any) (*Rotation[T], error) { return rotationOf[T](r.(rotationRecipe)) })
	registry.RegisterFunc((*Rotation[T]).recipe)
}

func (r *Rotation[T]) recipe() (any, error) {
	if len(r.factors) == 0 {
		return nil, errors.New("a zero Rotation, want one of NewRotation to write it")
	}
	of := rotationRecipe{D: r.in, Order: r.plan.order()}
	for _, f := range r.factors {
		words := make([]uint64, (len(f)+63)/64)
		for j, v := range f {
			if v < 0 {
				words[j/64] |= 1 << (j % 64)
			}
		}
		for _, w := range words {
			of.Signs = binary.LittleEndian.AppendUint64(of.Signs, w)
		}
	}
	return of, nil
}

type words []byte

func (w *words) Uint64() uint64 {
	word := binary.LittleEndian.Uint64(*w)
	*w = (*w)[8:]
	return word
}

func rotationOf[T dense.Float](r rotationRecipe) (*Rotation[T], error) {
	n, factor := uint64(len(r.Signs)), (uint64(r.Order)+63)/64*8
	if r.Order < 1 || n == 0 || n%factor != 0 {
		return nil, fmt.Errorf("%d bytes of signs of factors of order %d", n, r.Order)
	}
	for at := factor; at <= n; at += factor {
		if binary.LittleEndian.Uint64(r.Signs[at-8:])>>((r.Order-1)%64+1) != 0 {
			return nil, fmt.Errorf("signs beyond the order %d", r.Order)
		}
	}
	return NewRotation[T](r.D, RotationOptions{Factors: int(n / factor), Order: r.Order}, (*words)(&r.Signs))
}
