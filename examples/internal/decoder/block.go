package decoder

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// block is h = x + attention(norm(x)), y = h + inner(norm(h)).
type block[T dense.Float] struct {
	attentionNorm sublayer[T]
	attention     *attention[T]
	innerNorm     sublayer[T]
	inner         sublayer[T]
}

func newBlock[T dense.Float](c Config, place *places[T], heads Attention[T], src rand.Source) *block[T] {
	// The sum that 2·Layers layers add to x has the variance of one unscaled layer.
	scale := 1 / math.Sqrt(2*float64(c.Layers))
	b := &block[T]{
		attentionNorm: newNorm[T](c),
		attention:     newAttention(c, place, heads, scale, src),
		innerNorm:     newNorm[T](c),
	}
	if c.GPT2 {
		b.inner = newGELU[T](c.Width, c.Inner, scale, src)
	} else {
		b.inner = newGated[T](c.Width, c.Inner, scale, src)
	}
	return b
}

func newNorm[T dense.Float](c Config) sublayer[T] {
	if c.GPT2 {
		return newLayerNorm[T](c.Width, c.Epsilon)
	}
	return newRMSNorm[T](c.Width, c.Epsilon)
}

// Sums go into the memory of the last layer, which does not read its outputs again.

func (b *block[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	h := b.attention.forward(b.attentionNorm.forward(x))
	addRows(h, x)
	y := b.inner.forward(b.innerNorm.forward(h))
	addRows(y, h)
	return y
}

func (b *block[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dh := b.innerNorm.backward(b.inner.backward(dy))
	addRows(dh, dy)
	dx := b.attentionNorm.backward(b.attention.backward(dh))
	addRows(dx, dh)
	return dx
}

func (b *block[T]) parameters() (all []*Parameter[T]) {
	for _, l := range []sublayer[T]{b.attentionNorm, b.attention, b.innerNorm, b.inner} {
		all = append(all, l.parameters()...)
	}
	return all
}
