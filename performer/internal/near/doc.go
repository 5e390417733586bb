// Package near joins exact weights of some keys with weights by features of all others: a window of
// keys near each query, keys that are drawn at random to correct the others, and the tokens of a
// stream that came last.
package near
