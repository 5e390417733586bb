// Package local computes causal attention with exact weights of the last keys before a query, and
// weights by features of all earlier keys.
package local
