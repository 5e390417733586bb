package vecmath

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
)

// block is a place in some slices: k adjacent vectors, or one element in every lane.
type block struct {
	machine
	k      int
	single bool
	used   *[]arm64.GP // addresses of the slices
}

// uses says that a slice goes on with the block.
func (b block) uses(base arm64.GP) {
	if !slices.Contains(*b.used, base) {
		*b.used = append(*b.used, base)
	}
}

// load returns the vectors of a slice.
func (b block) load(base arm64.GP) []arm64.Vec {
	b.uses(base)
	return b.loadRow(base)
}

// loadRow returns the vectors at an address that does not go on with the block.
func (b block) loadRow(base arm64.GP) []arm64.Vec {
	if b.single {
		return []arm64.Vec{b.Broadcast(base)}
	}
	v := b.Vecs(b.k)
	b.LoadTo(v, base, 0)
	return v
}

func (b block) store(v []arm64.Vec, base arm64.GP) {
	b.uses(base)
	b.storeRow(v, base)
}

func (b block) storeRow(v []arm64.Vec, base arm64.GP) {
	if b.single {
		b.StoreElement(v[0], base, 0)
	} else {
		b.StoreAll(v, base, 0)
	}
}

// loop writes body three times: for blocks of k vectors, for single vectors and for single elements.
// Together they go through n elements. loop returns how many elements are left, also for a jump out
// of body, which leaves the elements of its block.
func (m machine) loop(label string, n arm64.GP, k int, body func(b block)) (left arm64.GP) {
	left = m.CopyOf(n)
	round := func(b block, elements int) {
		start, end := fmt.Sprintf("%s%d", label, elements), fmt.Sprintf("%s%dEnd", label, elements)
		b.used = new([]arm64.GP)
		m.I("CMP $%d, R%r", elements, left)
		m.I("BLT %j", end)
		m.Label(start)
		body(b)
		for _, base := range *b.used {
			m.I("ADD $%d, R%m", elements*m.Size, base)
		}
		m.I("SUB $%d, R%m", elements, left)
		m.I("CMP $%d, R%r", elements, left)
		m.I("BGE %j", start)
		m.Label(end)
	}
	if k > 1 {
		round(block{machine: m, k: k}, k*m.Lanes())
	}
	round(block{machine: m, k: 1}, m.Lanes())
	round(block{machine: m, k: 1, single: true}, 1)
	return left
}
