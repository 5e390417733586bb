// Package tiles computes exact softmax attention of one head, a tile of queries and keys at a time.
// A [Mask] says which keys a query sees and what is added to its scores.
package tiles
