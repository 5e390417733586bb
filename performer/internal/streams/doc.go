// Package streams holds the memory of attention over a stream of tokens: all keys and values, sums
// over features, or sums over earlier tokens with the keys and values of local tokens.
package streams
