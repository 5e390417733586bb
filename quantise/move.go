package quantise

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

func (c *codes[T]) Grow(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rows()
	if n < 0 || n > math.MaxInt-old.n {
		return fmt.Errorf("quantise: n = %d, want from 0 to %d", n, math.MaxInt-old.n)
	}
	if err := c.q.checkRows(old.n + n); err != nil {
		return err
	}
	next := &rows{old.n, make([]cluster, c.q.clusters), old.labels}
	copy(next.clusters, old.clusters)
	for i, l := range next.clusters {
		more := n
		if c.q.centred() {
			more = int(float64(n) * float64(l.n) / float64(max(old.n, 1)))
		}
		next.clusters[i].blocks = l.with(more, c.q.layout).blocks
	}
	c.now.Store(next)
	return nil
}

func (c *codes[T]) AppendRows(from Codes[T], ids []int) error {
	f, ok := from.(*codes[T])
	if !ok || f == nil {
		return errNil("from")
	}
	if !c.q.rotates(f.q) {
		return errors.New("quantise: the rows are of a quantiser with other options or rotations")
	}
	if c.q.signWords > 0 && f.q.signWords == 0 {
		return errors.New("quantise: the rows have no signs, because their quantiser has centres")
	}
	source := f.rows()
	n, id := source.n, func(i int) int { return i }
	if ids != nil {
		n, id = len(ids), func(i int) int { return ids[i] }
	}
	centres := make([]int, f.q.clusters) // of c for those of f; −1 if c lacks the centre
	for k := 1; k < len(centres); k++ {
		centres[k] = slices.IndexFunc(c.q.centres, func(own centre[T]) bool { return slices.Equal(own.vector, f.q.centres[k].vector) })
	}
	labels := make([]uint32, n)
	for i := range n {
		if id(i) < 0 || id(i) >= source.n {
			return fmt.Errorf("quantise: row %d of %d", id(i), source.n)
		}
		label := source.label(id(i))
		if centres[label] < 0 {
			return fmt.Errorf("quantise: row %d has centre %d, which the codes lack", id(i), label)
		}
		labels[i] = uint32(centres[label])
	}
	q := c.q
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rows()
	if n > math.MaxInt-old.n {
		return fmt.Errorf("quantise: %d rows after %d, more than an int counts", n, old.n)
	}
	if err := q.checkRows(old.n + n); err != nil || n == 0 {
		return err
	}
	places := old.places(labels, q.clusters)
	own := labels
	if !q.centred() {
		own = nil
	}
	next := old.with(n, own, q.layout)
	for i, label := range labels {
		one, l := source.code(id(i), q.words), next.clusters[label]
		b := l.blocks[l.find(places[i])]
		at := places[i] - b.first
		copy(b.words[at*q.words:][:q.words], one.words)
		for k, v := range [columns]float64{one.norm, one.ratio, one.variance, one.centreProduct, one.codedProduct} {
			if b.numbers[k] != nil {
				b.numbers[k][at] = float32(v)
			}
		}
		if b.signs != nil {
			copy(b.signs.words[at*q.signWords:], one.signs)
			b.signs.numbers[ratios][at] = one.signRatio
		}
		if b.ids != nil {
			b.ids[at] = uint32(old.n + i)
		}
	}
	c.now.Store(next)
	return nil
}
