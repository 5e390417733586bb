package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
)

func (l *landmarks[T]) Centred(b, c []T) (Landmarks[T], error) {
	d := l.z.Cols
	if l.set == nil {
		d = max(len(b), len(c))
	}
	m := &nystroem.Means[T]{Query: make([]T, d), Key: make([]T, d), Absolute: l.exact.Unnormalised || l.exact.Causal}
	for _, v := range []struct {
		name string
		from []T
		to   []T
	}{{"b", b, m.Query}, {"c", c, m.Key}} {
		if len(v.from) != 0 && len(v.from) != d {
			return nil, fmt.Errorf("performer: %s has length %d, want %d", v.name, len(v.from), d)
		}
		for j, x := range v.from {
			if x-x != 0 {
				return nil, fmt.Errorf("performer: %s[%d] = %v, want a finite number", v.name, j, x)
			}
		}
		copy(v.to, v.from)
	}
	if len(b) == 0 && len(c) == 0 {
		m = nil
	}
	to := &landmarks[T]{exact: l.exact, n: l.n, seed: l.seed, z: l.z, d: d, means: m}
	if l.set != nil {
		set, err := nystroem.At(l.exact.scale(d), l.z, m)
		if err != nil {
			return nil, err
		}
		to.set = set
	}
	to.setEngine(l.engine.Undivided)
	to.setDouble()
	return to, nil
}
