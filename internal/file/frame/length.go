package frame

import (
	"fmt"
	"math"
)

// MaxTokens is the largest number of tokens that a state accepts from bytes or from another state.
// It is half of the largest int, so that the state can take in another MaxTokens tokens.
const MaxTokens = math.MaxInt / 2

// CheckMerge returns an error if states of n and of more tokens have more than MaxTokens together.
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
