// Package lm measures language models of package decoder: it reads them, cuts texts into sequences
// of their tokens, and replaces their attention by other forms.
package lm
