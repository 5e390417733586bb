package limit

import (
	"fmt"
	"math"
)

// Tokens is the largest number of tokens that a state accepts from a file or from another state. It
// is half of the largest int, so that the state can take in another Tokens tokens.
const Tokens = math.MaxInt / 2

// CheckMerge returns an error if states of n and of more tokens have more than Tokens together.
func CheckMerge(n, more int) error {
	if more > Tokens-n {
		return fmt.Errorf("other has %d tokens, the state %d, want at most %d in all", more, n, Tokens)
	}
	return nil
}

// CheckAppend returns an error if an int cannot count more tokens after n.
func CheckAppend(n, more int) error {
	if more > math.MaxInt-n {
		return fmt.Errorf("%d tokens after %d, want at most %d in all", more, n, math.MaxInt)
	}
	return nil
}
