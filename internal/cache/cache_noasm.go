//go:build !amd64 || purego || noasm

package cache

func l2() int { return common }
