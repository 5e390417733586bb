//go:build (!amd64 && !arm64) || purego || noasm

package fwht

// best returns nil: there are no kernels but the reference.
func best[T Float]() *kernels[T] { return nil }

func widest[T Float](int) *kernels[T] { return nil }
