package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

var (
	mapNames        = []string{"positive", "hyperbolic", "trig"}
	projectionNames = []string{"iid", "gram-schmidt", "hadamard", "givens"}
)

// selection stands for all combinations of some maps and projections, with m frequencies.
type selection struct {
	maps, projections []string
	m                 int
}

// pick returns the entries of a list, or all names for an empty list. Each entry must be one of
// names.
func pick(flag, list string, names []string) ([]string, error) {
	if list == "" {
		return names, nil
	}
	var picked []string
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if !slices.Contains(names, item) {
			return nil, fmt.Errorf("%s %q, want %s", flag, item, strings.Join(names, ", "))
		}
		picked = append(picked, item)
	}
	return picked, nil
}

// source returns the randomness of one purpose, which does not depend on other purposes.
func source(seed uint64, purpose string) rand.Source {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, purpose)
	return exprand.NewSource(h.Sum64())
}

// frequencySource returns the source of the draws of a projection with m frequencies. All maps
// share the draws, which makes them comparable.
func frequencySource(seed uint64, projection string, m int) rand.Source {
	return source(seed, fmt.Sprintf("%s %d", projection, m))
}

// ensembles are the laws of frequencies by name.
var ensembles = map[string]orf.Ensemble{
	"iid": orf.IID{}, "gram-schmidt": orf.GramSchmidt{}, "hadamard": orf.Hadamard{}, "givens": orf.Givens{},
}

// frequencies draws m frequencies of R^d.
func frequencies[T dense.Float](projection string, m, d int, src rand.Source) (orf.Projection[T], error) {
	return orf.Draw[T](ensembles[projection], m, d, src)
}

// features returns a map that estimates exp(scale·xᵀy).
func features[T dense.Float](name string, w orf.Projection[T], scale float64) (rff.Map[T], error) {
	switch name {
	case "positive":
		return rff.SoftmaxPositive(w, scale)
	case "hyperbolic":
		return rff.SoftmaxHyperbolic(w, scale)
	case "trig":
		return rff.SoftmaxTrig(w, scale)
	}
	return nil, fmt.Errorf("unknown map %q", name)
}
