// Package logscale is the arithmetic of numbers that are kept as logarithms or with an exponent of
// their own, so that sums of exponentials of any size neither overflow nor underflow.
package logscale
