// Package tiles is exact softmax attention of one head, a tile of queries and keys at a time. One
// type, [Mask], says which keys a query sees and what is added to their scores.
package tiles
