package performer

import (
	"encoding/binary"
	"fmt"
	"math"
)

// maxTokens is the number of tokens that a state may have been told of by bytes or by
// another state: half of what an int counts, so that as many can be appended.
const maxTokens = math.MaxInt / 2

// encodedTokens returns the number of tokens in the header of a state.
func encodedTokens(header []byte) (int, error) {
	n := binary.LittleEndian.Uint64(header[32:])
	if n > maxTokens {
		return 0, fmt.Errorf("performer: state of %d tokens, want at most %d", n, maxTokens)
	}
	return int(n), nil
}

// mergeable returns an error if a state of n tokens cannot take in one of so many more.
func mergeable(n, more int) error {
	if more > maxTokens-n {
		return fmt.Errorf("performer: other has %d tokens, the state %d, want at most %d in all", more, n, maxTokens)
	}
	return nil
}

// checkCount panics unless an int counts so many tokens after n.
func checkCount(n, more int) {
	if more > math.MaxInt-n {
		panic(fmt.Sprintf("performer: %d tokens after %d, want at most %d in all", more, n, math.MaxInt))
	}
}
