package decoder

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// block is h = x + attention(norm(x)), y = h + inner(norm(h)). A block and each of its layers has
// two methods.
//
//   - forward returns the outputs for x, in memory of the layer that the next call overwrites. x
//     has to stay as it is until backward has been called.
//   - backward takes the gradient with respect to the last outputs. It writes the gradients with
//     respect to the parameters, and returns the gradient with respect to x, in memory of the layer
//     too.
type block[T dense.Float] struct {
	attentionNorm *rmsNorm[T]
	attention     *attention[T]
	innerNorm     *rmsNorm[T]
	inner         *gated[T]
}

func newBlock[T dense.Float](c Config, place *places[T], heads Attention[T], src rand.Source) *block[T] {
	// The sum that 2·Layers layers add to x has the variance of one unscaled layer.
	scale := 1 / math.Sqrt(2*float64(c.Layers))
	return &block[T]{
		attentionNorm: newRMSNorm[T](c),
		attention:     newAttention(c, place, heads, scale, src),
		innerNorm:     newRMSNorm[T](c),
		inner:         newGated[T](c, scale, src),
	}
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

func (b *block[T]) parameters() []*Parameter[T] {
	return []*Parameter[T]{
		b.attentionNorm.gain, b.attention.in.weight, b.attention.out.weight,
		b.innerNorm.gain, b.inner.in.weight, b.inner.down.weight,
	}
}
