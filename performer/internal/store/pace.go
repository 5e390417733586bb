package store

import "math"

// TopK is the number of keys that a query of a head reads, or 0 for all keys. With a Tolerance
// above zero the number changes with the errors that Step measures.
type TopK struct {
	Keys      int
	Tolerance float64
}

// pace is the TopK of a head of queries during a stream. One token of each segment is measured:
// Step computes its output from some keys, and from all keys. The number of keys changes between
// segments only, so that outputs do not depend on how a stream is divided into calls.
type pace struct {
	TopK
	latest measured // since the last change of the number of keys
	sums   measured // over all measured tokens, with smaller weights for earlier ones
}

// measured holds squared errors, squared errors times squared numbers of keys, and squared norms.
type measured struct{ errors, scaled, norms float64 }

const (
	// wholeShare is the share of keys, 1 of so many, above which a query reads all keys.
	wholeShare = 3

	// The number of keys is for a part of the tolerance, because few tokens are measured. forget
	// is the weight of a measured token over that of the next one.
	partOfTolerance = 0.5
	forget          = 0.95

	// The number of keys falls and rises by at most these factors, within these bounds.
	fall, rise          = 0.9, 2.0
	leastKeys, mostKeys = 32, 1 << 30
)

// reads returns the number of keys that a query reads of those that it sees, or 0 for all keys. A
// measured query never reads all keys.
func (p *pace) reads(seen int, measuring bool) int {
	switch most := seen / wholeShare; {
	case p.Tolerance == 0 || p.Keys <= most:
		return p.Keys
	case measuring:
		return most
	}
	return 0
}

func (p *pace) measure(square, norm float64, seen int) {
	keys := float64(p.reads(seen, true))
	m := measured{square, square * keys * keys, norm}
	if p.reads(seen, false) == 0 {
		m.errors = 0 // of queries that are not measured
	}
	if m.scaled-m.scaled == 0 && norm-norm == 0 {
		p.latest = m
	}
}

func (p *pace) adapt() {
	s, m := &p.sums, p.latest
	if p.Tolerance == 0 || m.norms == 0 {
		return
	}
	*s = measured{forget*s.errors + m.errors, forget*s.scaled + m.scaled, forget*s.norms + m.norms}
	p.latest = measured{}
	want, keys := math.Sqrt(s.scaled/s.norms)/(partOfTolerance*p.Tolerance), float64(p.Keys)
	p.Keys = int(max(leastKeys, min(max(want, fall*keys), rise*keys, mostKeys)))
}

// error returns the measured error over the norm, or 0 before the first change.
func (p *pace) error() float64 {
	if p.sums.norms == 0 {
		return 0
	}
	return math.Sqrt(p.sums.errors / p.sums.norms)
}

const numbersOfPace = 7

func (p *pace) numbers() []float64 {
	a, b := p.latest, p.sums
	return []float64{float64(p.Keys), a.errors, a.scaled, a.norms, b.errors, b.scaled, b.norms}
}

func (p *pace) set(x []float64) {
	if p.Tolerance > 0 && x[0] >= 1 {
		p.Keys, p.latest, p.sums = int(min(x[0], mostKeys)), measured{x[1], x[2], x[3]}, measured{x[4], x[5], x[6]}
	}
}
