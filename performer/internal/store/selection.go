package store

import (
	"math"
	"math/bits"

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
	keys   []uint32
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
	s.lowest = 0
	if len(list) == 0 {
		return list
	}
	s.keys = scratch.Resize(s.keys, len(list))
	for at, i := range list {
		s.keys[at] = keyOf(scores[i])
	}
	key, equal := nth(s.keys, min(n, len(list)))
	s.lowest = scoreOf(key)
	kept := list[:0]
	for _, i := range list {
		switch v := scores[i]; {
		case v > s.lowest:
			kept = append(kept, i)
		case v == s.lowest && equal > 0:
			kept = append(kept, i)
			equal--
		}
	}
	return kept
}

// bound returns the n-th highest peak, or the least number if there are fewer peaks.
func (s *selection) bound(n int) float32 {
	if len(s.peaks) < n {
		return -math.MaxFloat32
	}
	s.keys = scratch.Resize(s.keys, len(s.peaks))
	for i, peak := range s.peaks {
		s.keys[i] = keyOf(peak)
	}
	key, _ := nth(s.keys, n)
	return max(scoreOf(key), -math.MaxFloat32)
}

const sign = 1 << 31

// keyOf returns a number that ascends with the score. scoreOf returns the score.
func keyOf(score float32) uint32 {
	bits := math.Float32bits(score + 0) // +0 for −0
	return bits ^ (uint32(int32(bits)>>31) | sign)
}

func scoreOf(key uint32) float32 {
	return math.Float32frombits(key ^ (uint32(int32(^key)>>31) | sign))
}

const digitBits = 8

// nth returns the n-th highest of at least n keys, and how many equal keys are among the n highest.
// A histogram of the highest digit in which keys differ tells which keys remain. nth overwrites the
// keys.
func nth(keys []uint32, n int) (uint32, int) {
	for {
		least, most := keys[0], keys[0]
		for _, key := range keys {
			least, most = min(least, key), max(most, key)
		}
		if least == most {
			return least, n
		}
		shift := max(bits.Len32(most-least)-digitBits, 0)
		var counts [1 << digitBits]int32
		for _, key := range keys {
			counts[uint8((most-key)>>shift)]++
		}
		digit := 0
		for ; n > int(counts[digit]); digit++ {
			n -= int(counts[digit])
		}
		kept := 0
		for _, key := range keys {
			keys[kept] = key
			if int(uint8((most-key)>>shift)) == digit {
				kept++
			}
		}
		keys = keys[:kept]
	}
}
