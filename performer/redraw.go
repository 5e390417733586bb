package performer

import "fmt"

// Redraw returns attention with other features and the options of a, which does not
// change: random features that are drawn anew from time to time, as in training, are
// a sequence of Attentions. It may have another number of features. It returns the
// errors of [New], and one if the maps take points of another dimension.
//
// Sums of the old features mean nothing under the new ones. A [State] stays with the
// Attention that made it; one of the new features starts empty and refuses to merge
// with it or to read its bytes.
func (a *Attention[T]) Redraw(f Features[T]) (*Attention[T], error) {
	b, err := New(f, a.opts)
	if err != nil {
		return nil, err
	}
	if b.d != a.d {
		return nil, fmt.Errorf("performer: Query maps points of R^%d, want R^%d as before", b.d, a.d)
	}
	return b, nil
}
