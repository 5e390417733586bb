package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// selection finds the highest of many scores. Scores are divided into groups, whose peaks bound the
// lowest of the highest scores from below: only scores from the bound on are compared.
type selection struct {
	lowest float32 // of the highest scores; 0 if there is none
	list   []int32
	peaks  []float32
	keys   []uint64
}

const (
	// lanes is the number of groups of a chunk of scores. Score i of a chunk belongs to group i mod
	// lanes, because neighbours in a text tend to have high scores together.
	lanes = 64

	// groupsOfHighest is about the number of groups for each score to find.
	groupsOfHighest = 2
)

// highest returns the indexes of the n highest scores above −Inf, in ascending order, or of fewer
// if there are fewer. Of equal scores it takes the first. There are a multiple of lanes scores. NaN
// is not found.
func (s *selection) highest(scores []float32, n int) []int32 {
	rows := max(len(scores)/(groupsOfHighest*n), 1)
	chunk := rows * lanes
	s.peaks = scratch.Resize(s.peaks, (len(scores)+chunk-1)/chunk*lanes)
	for i := range s.peaks {
		s.peaks[i] = hidden
	}
	for at := 0; at < len(scores); at += chunk {
		vecmath.PeakRows(s.peaks[at/rows:][:lanes], scores[at:], lanes, min(rows, (len(scores)-at)/lanes))
	}
	s.list = scratch.Resize(s.list, len(scores))
	list := s.list[:scan.Above(s.list, scores, s.bound(n))]
	if len(list) > n {
		list = s.cut(list, scores, n)
	}
	s.lowest = 0
	for at, i := range list {
		if v := scores[i]; at == 0 || v < s.lowest {
			s.lowest = v
		}
	}
	return list
}

// bound returns the n-th highest peak, or the least number if there are fewer peaks.
func (s *selection) bound(n int) float32 {
	if len(s.peaks) < n {
		return -math.MaxFloat32
	}
	s.keys = scratch.Resize(s.keys, len(s.peaks))
	for i, peak := range s.peaks {
		s.keys[i] = keyOf(peak, int32(i))
	}
	return max(s.peaks[^uint32(nth(s.keys, n))], -math.MaxFloat32)
}

func (s *selection) cut(list []int32, scores []float32, n int) []int32 {
	s.keys = scratch.Resize(s.keys, 2*len(list))
	keys, rest := s.keys[:len(list)], s.keys[len(list):]
	for at, i := range list {
		keys[at] = keyOf(scores[i], i)
	}
	copy(rest, keys)
	least, kept := nth(rest, n), list[:0]
	for at, i := range list {
		if keys[at] >= least {
			kept = append(kept, i)
		}
	}
	return kept
}

// keyOf returns a number that ascends with the score and, among equal scores, descends with i.
func keyOf(score float32, i int32) uint64 {
	bits := math.Float32bits(score + 0) // +0 for −0
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return uint64(bits)<<32 | uint64(^uint32(i))
}

const digitBits = 8

// nth returns the n-th highest of at least n keys, digit by digit: a histogram of the highest digit
// tells which keys remain. nth overwrites the keys.
func nth(keys []uint64, n int) uint64 {
	for shift := 64 - digitBits; len(keys) > 1; shift -= digitBits {
		var counts [1 << digitBits]int32
		for _, key := range keys {
			counts[uint8(key>>shift)]++
		}
		digit := len(counts) - 1
		for ; n > int(counts[digit]); digit-- {
			n -= int(counts[digit])
		}
		if int(counts[digit]) == len(keys) {
			continue
		}
		kept := keys[:0]
		for _, key := range keys {
			if int(uint8(key>>shift)) == digit {
				kept = append(kept, key)
			}
		}
		keys = kept
	}
	return keys[0]
}
