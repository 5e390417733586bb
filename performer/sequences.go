package performer

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Sequences divides the rows of q, k and v into sequences, and says which keys queries may see. The
// zero value of Sequences is one sequence of all rows whose keys are all valid.
type Sequences struct {
	// Queries and Keys hold the numbers of queries (rows of q) and of keys (rows of k and v) of
	// each sequence. Elements of Queries and Keys may be zero. Keys may be nil if each sequence has
	// as many keys as queries. Queries and Keys are nil for one sequence of all rows.
	Queries, Keys []int

	// Past holds, for each sequence, the number of keys before the first query, for causal
	// attention: query i sees the keys j ≤ i + Past. A nil Past means zero for all sequences. A
	// negative Past hides all keys from the first queries of a causal sequence. Bidirectional
	// attention ignores Past, except for an [Exact] with a Window, a Chunk or a Slope.
	Past []int

	// Valid says for each row of k and v whether queries may see the row. Rows of k and v that are
	// not valid change no output, even if these rows are NaN. A nil Valid means that all rows are
	// valid. An [Exact] with a Window or a Chunk numbers all keys of a sequence, valid or not, from
	// 0 at the first valid row, and counts its Sinks from that row too.
	Valid []bool
}

func (s Sequences) fits(queries, keys int) error {
	if s.Queries == nil && s.Keys != nil {
		return fmt.Errorf("performer: Sequences.Queries is nil, Keys has length %d, want both", len(s.Keys))
	}
	n := 1
	if s.Queries != nil {
		n = len(s.Queries)
		if err := layout.CheckLengths(s.Queries, queries); err != nil {
			return fmt.Errorf("performer: Sequences.Queries %w", err)
		}
		name, lengths := "Queries, which are the lengths of the keys too,", s.Queries
		if s.Keys != nil {
			name, lengths = "Keys", s.Keys
		}
		if err := layout.CheckLengths(lengths, keys); err != nil {
			return fmt.Errorf("performer: Sequences.%s %w", name, err)
		}
	}
	if s.Keys != nil && len(s.Keys) != n {
		return fmt.Errorf("performer: Sequences.Keys has length %d, want one for each of %d sequences", len(s.Keys), n)
	}
	if s.Past != nil && len(s.Past) != n {
		return fmt.Errorf("performer: Sequences.Past has length %d, want one for each of %d sequences", len(s.Past), n)
	}
	if s.Valid != nil && len(s.Valid) != keys {
		return fmt.Errorf("performer: Sequences.Valid has length %d, want one for each of %d keys", len(s.Valid), keys)
	}
	return nil
}

// lengthsOfKeys returns the numbers of keys of the sequences, or nil for one sequence.
func (s Sequences) lengthsOfKeys() []int {
	if s.Keys == nil {
		return s.Queries
	}
	return s.Keys
}

// farthest bounds Window and Past, so that sums of a few fit an int.
const farthest = math.MaxInt / 8
