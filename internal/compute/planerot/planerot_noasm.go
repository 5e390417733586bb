//go:build (!amd64 && !arm64) || purego || noasm

package planerot

// best returns the kernels of the highest tier: nil for the reference.
func best[T Float]() *kernels[T] { return nil }
