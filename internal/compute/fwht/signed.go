package fwht

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// Multiply sets dst[i] = x[i]·f[i]. The slices have the same length. dst may be x or f.
func Multiply[T Float](dst, x, f []T) {
	x, f = x[:len(dst)], f[:len(dst)]
	done := 0
	if k := best[T](); k != nil {
		if count := len(dst) >> k.log; count > 0 {
			k.times(&dst[0], &x[0], &f[0], count)
			done = count << k.log
		}
	}
	for i := done; i < len(dst); i++ {
		dst[i] = x[i] * f[i]
	}
}

// Signed writes the products src[i]·signs[i], padded with zeros, to dst and transforms adjacent
// blocks of n elements. src and signs have the same length, at most len(dst). dst may begin at
// src[0]. n is a power of two that divides len(dst).
func Signed[T Float](dst, src, signs []T, n int) {
	k := best[T]()
	if k == nil || n < 1<<k.log {
		Multiply(dst[:len(src)], src, signs)
		clear(dst[len(src):])
		TransformBlocks(dst, n)
		return
	}
	t := log2(n)
	if r := t - k.log; r < len(k.base) {
		k.signedBlocks(dst, src, signs, r)
		return
	}
	for lo := 0; lo < len(dst); lo += n {
		from, to := min(lo, len(src)), min(lo+n, len(src))
		k.signedTransform(dst[lo:lo+n], src[from:to], signs[from:to], t)
	}
}

func (k *kernels[T]) signedTransform(dst, src, signs []T, t int) {
	if len(src) == 0 {
		clear(dst)
		return
	}
	if len(dst) <= firstCache/simd.Size[T]() {
		r := k.first(t)
		k.signedBlocks(dst, src, signs, r)
		k.passes(dst, r)
		return
	}
	s := stagesAcross(dst)
	segment := len(dst) >> s
	for lo := 0; lo < len(dst); lo += segment {
		from, to := min(lo, len(src)), min(lo+segment, len(src))
		k.signedTransform(dst[lo:lo+segment], src[from:to], signs[from:to], t-s)
	}
	k.across(dst, segment, s)
}

func (k *kernels[T]) signedBlocks(dst, src, signs []T, r int) {
	n := 1 << (k.log + r)
	if count := len(src) / n; count > 0 {
		k.signed[r](&dst[0], &src[0], &signs[0], count)
		dst, src, signs = dst[count*n:], src[count*n:], signs[count*n:]
	}
	if len(src) > 0 {
		Multiply(dst[:len(src)], src, signs)
		clear(dst[len(src):n])
		k.base[r](&dst[0], 1)
		dst = dst[n:]
	}
	clear(dst)
}
