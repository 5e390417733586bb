package frame

import (
	"fmt"
	"math"
)

// MaxTokens is the largest number of tokens that a state accepts from bytes or from another
// state: half of the largest int, so that the same number can still be appended.
const MaxTokens = math.MaxInt / 2

// CheckMerge returns an error if a state of n tokens cannot take in a state of more tokens.
func CheckMerge(n, more int) error {
	if more > MaxTokens-n {
		return fmt.Errorf("other has %d tokens, the state %d, want at most %d in all", more, n, MaxTokens)
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
