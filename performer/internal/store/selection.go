package store

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// selection finds the highest of many scores. Scores are divided into groups, whose peaks bound the
// lowest of the highest scores from below: only scores from the bound on are compared.
type selection struct {
	lowest float32 // of the highest scores; 0 if there is none
	found  []int
	peaks  []float32
	keys   []uint64
	part   []uint64
}

const (
	// lanes is the number of groups of a chunk of scores. Score i of a chunk belongs to group i mod
	// lanes, because neighbours in a text tend to have high scores together.
	lanes = 64

	// groupsOfHighest is about the number of groups for each score to find.
	groupsOfHighest = 8
)

// highest returns the indexes of the n highest scores above −Inf, or of fewer if there are fewer.
// Of equal scores it takes the first. The number of scores is a multiple of lanes. NaN is not found.
func (s *selection) highest(scores []float32, n int) []int {
	s.lowest, s.found, s.keys = 0, s.found[:0], s.keys[:0]
	rows := max(len(scores)/(groupsOfHighest*n), 1)
	chunk := rows * lanes
	s.peaks = scratch.Resize(s.peaks, (len(scores)+chunk-1)/chunk*lanes)
	for i := range s.peaks {
		s.peaks[i] = hidden
	}
	for at := 0; at < len(scores); at += chunk {
		vecmath.PeakRows(s.peaks[at/rows:][:lanes], scores[at:], lanes, min(rows, (len(scores)-at)/lanes))
	}
	bins, from := s.bound(n)
	for group, peak := range s.peaks {
		if bins.of(peak) < from {
			continue
		}
		first := group/lanes*chunk + group%lanes
		for i := first; i < min(first+chunk, len(scores)); i += lanes {
			if v := scores[i]; bins.of(v) >= from {
				s.keys = append(s.keys, keyOf(v, i))
			}
		}
	}
	if len(s.keys) == 0 {
		return nil
	}
	least := uint64(0)
	if len(s.keys) > n {
		s.part = append(s.part[:0], s.keys...)
		least = nth(s.part, n)
	}
	lowest := ^uint64(0)
	for _, key := range s.keys {
		if key >= least {
			lowest = min(lowest, key)
			s.found = append(s.found, int(^uint32(key)))
		}
	}
	s.lowest = scoreOf(lowest)
	return s.found
}

// bins divide scores into bins of equal widths, from bin 1 on. −Inf and NaN have bin 0.
type bins struct{ low, scale float32 }

const binCount = 1 << 10

func (b bins) of(score float32) int {
	switch x := float32((score - b.low) * b.scale); {
	case !(score > hidden):
		return 0
	case x >= binCount-1:
		return binCount
	case x > 0:
		return 1 + int(x)
	}
	return 1
}

// bound returns the highest bin from which on there are n peaks, or bin 1 if there are fewer. At least
// n scores are in these bins, so that the highest scores are.
func (s *selection) bound(n int) (b bins, least int) {
	low, high := float32(math.Inf(1)), hidden
	for _, peak := range s.peaks {
		if peak > hidden {
			low, high = min(low, peak), max(high, peak)
		}
	}
	b.low = low
	if width := high - low; width > 0 {
		b.scale = binCount / width
	}
	if b.scale > math.MaxFloat32 {
		b.scale = 0
	}
	var counts [binCount + 1]int32
	for _, peak := range s.peaks {
		counts[b.of(peak)]++
	}
	for least = binCount; least > 1 && int(counts[least]) < n; least-- {
		n -= int(counts[least])
	}
	return b, least
}

// keyOf returns a number that ascends with the score, and descends with the index among equal
// scores. scoreOf returns the score of a key.
func keyOf(score float32, i int) uint64 {
	bits := math.Float32bits(score + 0) // +0 for −0
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return uint64(bits)<<32 | uint64(^uint32(i))
}

func scoreOf(key uint64) float32 {
	bits := uint32(key >> 32)
	if bits>>31 == 1 {
		return math.Float32frombits(bits &^ (1 << 31))
	}
	return math.Float32frombits(^bits)
}

// digitBits is the number of bits of a digit of a key.
const digitBits = 11

// nth returns the n-th highest of at least n keys, digit by digit: a histogram of the highest digit
// tells which keys remain. nth overwrites the keys.
func nth(keys []uint64, n int) uint64 {
	for shift := 64 - digitBits; len(keys) > 1; shift = max(shift-digitBits, 0) {
		var counts [1 << digitBits]int32
		for _, key := range keys {
			counts[key>>shift&(1<<digitBits-1)]++
		}
		digit := len(counts) - 1
		for ; n > int(counts[digit]); digit-- {
			n -= int(counts[digit])
		}
		kept := keys[:0]
		for _, key := range keys {
			if key>>shift&(1<<digitBits-1) == uint64(digit) {
				kept = append(kept, key)
			}
		}
		keys = kept
		if shift == 0 {
			break // the keys are equal
		}
	}
	return keys[0]
}
