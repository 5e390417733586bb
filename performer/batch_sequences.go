package performer

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/layout"
)

// Sequences says which rows of the matrices of a call belong to which sequence, and which keys
// count. The zero value is one sequence of all rows whose keys all count.
type Sequences struct {
	// Queries holds the number of queries of each sequence, whose rows follow one another in q.
	// Keys holds the number of keys of each sequence in k and v. Numbers may be zero. Keys may be
	// nil if each sequence has the same number of keys and queries. Both are nil for one sequence
	// of all rows.
	Queries, Keys []int

	// Past holds, for each sequence, how many of its keys precede the first query, for causal
	// attention: query i sees the keys j ≤ i + Past. Nil means zero for all sequences. If Past is
	// negative, the first queries see nothing. Bidirectional forms ignore Past.
	Past []int

	// Valid says for each row of k and v whether it counts. The contents of rows that do not count,
	// NaN included, change no output. Nil means that all rows count.
	Valid []bool
}

// check panics unless the lengths fit the numbers of queries and keys.
func (s Sequences) check(queries, keys int) {
	if s.Queries == nil && s.Keys != nil {
		panic(fmt.Sprintf("performer: Sequences.Queries is nil, Keys has length %d, want both", len(s.Keys)))
	}
	n := 1
	if s.Queries != nil {
		n = len(s.Queries)
		checkLengths("Queries", s.Queries, queries)
		if s.Keys == nil {
			checkLengths("Queries, which are the lengths of the keys too,", s.Queries, keys)
		} else {
			checkLengths("Keys", s.Keys, keys)
		}
	}
	if s.Keys != nil && len(s.Keys) != n {
		panic(fmt.Sprintf("performer: Sequences.Keys has length %d, want one for each of %d sequences", len(s.Keys), n))
	}
	if s.Past != nil && len(s.Past) != n {
		panic(fmt.Sprintf("performer: Sequences.Past has length %d, want one for each of %d sequences", len(s.Past), n))
	}
	if s.Valid != nil && len(s.Valid) != keys {
		panic(fmt.Sprintf("performer: Sequences.Valid has length %d, want one for each of %d keys", len(s.Valid), keys))
	}
}

// checkLengths panics unless lengths are not negative and add up to rows.
func checkLengths(name string, lengths []int, rows int) {
	if err := layout.CheckLengths(lengths, rows); err != nil {
		panic(fmt.Sprintf("performer: Sequences.%s %v", name, err))
	}
}

// keysIn returns the valid flags of the keys from ≤ j < to, or nil if they all count.
func (s Sequences) keysIn(from, to int) []bool {
	if s.Valid == nil || !slices.Contains(s.Valid[from:to], false) {
		return nil
	}
	return s.Valid[from:to]
}

// pastOf returns the Past of sequence i, cut to ±limit. A Past beyond ±limit has the same meaning.
func (s Sequences) pastOf(i, limit int) int {
	if s.Past == nil {
		return 0
	}
	return min(max(s.Past[i], -limit), limit)
}
