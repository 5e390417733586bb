package streams

import "slices"

// Arrivals records the number of the call that appended each token. If the last token of a Saved
// has the same number, the memory still has the tokens of the Saved: a later call that replaced
// tokens has another number. The zero value has no tokens.
type Arrivals struct {
	came  []uint64
	calls uint64
}

// Extend adds n tokens of one call.
func (a *Arrivals) Extend(n int) {
	a.calls++
	for range n {
		a.came = append(a.came, a.calls)
	}
}

// Truncate keeps the first n tokens.
func (a *Arrivals) Truncate(n int) { a.came = a.came[:n] }

// Remove removes the tokens from ≤ i < to.
func (a *Arrivals) Remove(from, to int) { a.came = slices.Delete(a.came, from, to) }

// Last returns the number of the call that appended the last of the first n tokens, 0 for n = 0.
func (a *Arrivals) Last(n int) uint64 {
	if n == 0 {
		return 0
	}
	return a.came[n-1]
}

// Hold reports whether the first n tokens are the tokens for which Last returned last.
func (a *Arrivals) Hold(n int, last uint64) bool {
	return n == 0 || n <= len(a.came) && a.came[n-1] == last
}

// Clone returns a copy that shares nothing with a.
func (a *Arrivals) Clone() Arrivals { return Arrivals{came: slices.Clone(a.came), calls: a.calls} }
