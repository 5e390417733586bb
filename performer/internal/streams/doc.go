// Package streams has what forms of attention keep of a stream of tokens: all keys and values, sums
// over features, or sums over far tokens with the keys and values of near ones.
package streams
