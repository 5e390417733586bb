package automl

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// forwardFolds is the number of folds forward in time. Each is a tenth of the rows.
const forwardFolds = 5

// foldsOfGroups returns the fold of each row with the group, so that folds have whole groups and
// about equal numbers of rows. Forward in time, the first half of the rows has negative folds.
func foldsOfGroups(group []int, folds int, forward bool) []int {
	counts := make(map[int]int)
	for _, g := range group {
		counts[g]++
	}
	var all []int
	for g := range counts {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b int) int {
		if forward {
			return cmp.Compare(a, b)
		}
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	of, sizes, before := make(map[int]int), make([]int, folds), 0
	for _, g := range all {
		if forward {
			of[g] = 2*folds*before/len(group) - folds
			before += counts[g]
			continue
		}
		least := slices.Index(sizes, slices.Min(sizes))
		of[g] = least
		sizes[least] += counts[g]
	}
	fold := make([]int, len(group))
	for i, g := range group {
		fold[i] = of[g]
	}
	return fold
}

// trains reports whether a row with the fold is in the fit whose held-out rows have fold k.
func (o Options) trains(fold, k int) bool { return fold != k && (!o.Forward || fold < k) }

const sampledGroups = 50

// ranks returns a number for each row, so that the rows with the least numbers are a sample: random
// rows if groups are few or are times, and otherwise random groups, of which large ones come in
// parts. It returns nil without groups.
func (o Options) ranks(rng *rand.Rand) []int {
	if o.Groups == nil {
		return nil
	}
	order := rng.Perm(len(o.Groups))
	first, seen, part := make(map[int]int), make(map[int]int), make([]int, len(order))
	for at, i := range order {
		g := o.Groups[i]
		if _, known := first[g]; !known {
			first[g] = at
		}
		part[i] = seen[g] * sampledGroups / sampleRows
		seen[g]++
	}
	if !o.Forward && len(seen) >= sampledGroups {
		slices.SortStableFunc(order, func(i, j int) int {
			return cmp.Or(cmp.Compare(part[i], part[j]), cmp.Compare(first[o.Groups[i]], first[o.Groups[j]]))
		})
	}
	ranks := make([]int, len(order))
	for at, i := range order {
		ranks[i] = at
	}
	return ranks
}
