package layer

import (
	"cmp"
	"fmt"
	"math"
)

// RotaryScaling changes the angles of rotary positions for contexts longer than in training.
// [RotaryLinear], [RotaryYaRN], [RotaryLongRoPE] and [RotaryLlama3] implement RotaryScaling.
type RotaryScaling interface {
	// scale changes ω_i = base^(−i/n), i < n, and returns the factor of coordinates.
	scale(omega []float64, base float64) (factor float64, err error)
}

// RotaryLinear divides all rotary angles by Factor ≥ 1 [Chen et al. 2023].
type RotaryLinear struct{ Factor float64 }

func (s RotaryLinear) scale(omega []float64, _ float64) (float64, error) {
	for i := range omega {
		omega[i] /= s.Factor
	}
	return 1, checkFactor(s.Factor)
}

// RotaryLlama3 divides small rotary angles by Factor and keeps large rotary angles [Grattafiori et
// al. 2024]. An angle of ω per token makes t = Context·ω/2π full turns in Context tokens. An angle
// is small if the number t of turns is below LowFrequency, and large if t is above HighFrequency.
// RotaryLlama3 replaces an angle ω between small and large by a weighted average of ω and ω/Factor:
//
//	(1−s)·ω/Factor + s·ω,  s = (t − LowFrequency)/(HighFrequency − LowFrequency)
//
// Llama 3.1 has {Factor: 8, LowFrequency: 1, HighFrequency: 4, Context: 8192}. Llama 4 has
// LowFrequency = HighFrequency = 1: angles below one turn in Context tokens are small, all other
// angles large.
//
// RotaryLlama3 needs Factor ≥ 1, 0 < LowFrequency ≤ HighFrequency and Context ≥ 1.
type RotaryLlama3 struct {
	Factor, LowFrequency, HighFrequency float64
	Context                             int // tokens of a training sequence
}

func (s RotaryLlama3) scale(omega []float64, _ float64) (float64, error) {
	if !(s.LowFrequency > 0) || !(s.HighFrequency >= s.LowFrequency) || math.IsInf(s.HighFrequency, 0) {
		return 0, fmt.Errorf("RotaryLlama3 has the frequencies %v and %v, want 0 < low ≤ high < Inf", s.LowFrequency, s.HighFrequency)
	}
	for i, w := range omega {
		turns := float64(s.Context) * w / (2 * math.Pi)
		keep := 1.0
		if turns < s.HighFrequency {
			keep = (turns - s.LowFrequency) / (s.HighFrequency - s.LowFrequency) // or −Inf
		}
		omega[i] = mix(w, s.Factor, keep)
	}
	if err := checkContext(s.Context); err != nil {
		return 0, err
	}
	return 1, checkFactor(s.Factor)
}

// RotaryYaRN divides small rotary angles by Factor, keeps large ones, and multiplies coordinates by
// Length [Peng et al. 2023]. RotaryYaRN replaces the angle ω_i of pair i of coordinates by
// (1−s_i)·ω_i/Factor + s_i·ω_i, with a share 0 ≤ s_i ≤ 1.
//
// The share s_i of RotaryYaRN is 1 up to pair ⌊i(Fast)⌋, 0 from pair ⌈i(Slow)⌉ on, and linear in
// between, where pair i(β) makes β full turns in Context tokens:
//
//	i(β) = Dim·log(Context/(2πβ))/(2·log Base).
//
// With Unrounded, RotaryYaRN does not round i(Fast) and i(Slow), the pairs that make Fast and Slow
// turns in Context tokens, as in gpt-oss. A zero Fast means 32, a zero Slow 1, and a zero Length
// 0.1·log Factor + 1. RotaryYaRN needs Factor ≥ 1, Context ≥ 1 and 0 < Slow < Fast.
type RotaryYaRN struct {
	Factor             float64
	Context            int // tokens of a training sequence
	Fast, Slow, Length float64
	Unrounded          bool // "truncate": false
}

func (s RotaryYaRN) scale(omega []float64, base float64) (float64, error) {
	s.Fast, s.Slow, s.Length = cmp.Or(s.Fast, 32), cmp.Or(s.Slow, 1), cmp.Or(s.Length, 0.1*math.Log(s.Factor)+1)
	if err := checkFactor(s.Factor); err != nil {
		return 0, err
	}
	if err := checkContext(s.Context); err != nil {
		return 0, err
	}
	if !(s.Slow > 0) || !(s.Fast > s.Slow) || math.IsInf(s.Fast, 0) || !(s.Length > 0) || math.IsInf(s.Length, 0) {
		return 0, fmt.Errorf("RotaryYaRN has Slow = %v, Fast = %v and Length = %v, want 0 < Slow < Fast < Inf and 0 < Length < Inf",
			s.Slow, s.Fast, s.Length)
	}
	n := float64(len(omega))
	pair := func(turns float64) float64 {
		return n * math.Log(float64(s.Context)/(2*math.Pi*turns)) / math.Log(base)
	}
	low, high := pair(s.Fast), pair(s.Slow)
	if !s.Unrounded {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, 2*n-1)
	if low == high {
		high += 0.001 // as in the reference
	}
	for i, w := range omega {
		omega[i] = mix(w, s.Factor, 1-(float64(i)-low)/(high-low))
	}
	return s.Length, nil
}

// RotaryLongRoPE divides the rotary angle ω_i of pair i by element i of Short if Tokens, the length
// of the longest sequence, is at most Context, and otherwise by element i of Long [Ding et al.
// 2024]. RotaryLongRoPE multiplies rotated coordinates by Length; a zero Length means √(1 + log
// Factor/log Context). The elements of Short and Long, one for each pair of rotated coordinates,
// are positive and finite, and leave rotary angles of at most π per token. RotaryLongRoPE needs
// Factor ≥ 1, Tokens ≥ 1 and Context ≥ 2.
type RotaryLongRoPE struct {
	Short, Long []float64
	Factor      float64 // tokens of the longest sequence of the model, over Context
	Context     int     // tokens of a training sequence
	Tokens      int
	Length      float64
}

func (s RotaryLongRoPE) scale(omega []float64, _ float64) (float64, error) {
	if err := checkFactor(s.Factor); err != nil {
		return 0, err
	}
	if s.Context < 2 || s.Tokens < 1 {
		return 0, fmt.Errorf("RotaryLongRoPE has Context = %d and Tokens = %d, want at least 2 and at least 1", s.Context, s.Tokens)
	}
	s.Length = cmp.Or(s.Length, math.Sqrt(1+math.Log(s.Factor)/math.Log(float64(s.Context))))
	if !(s.Length > 0) || math.IsInf(s.Length, 0) {
		return 0, fmt.Errorf("RotaryLongRoPE has Length = %v, want 0 < Length < Inf", s.Length)
	}
	if len(s.Short) != len(omega) || len(s.Long) != len(omega) {
		return 0, fmt.Errorf("RotaryLongRoPE has %d elements of Short and %d of Long, want one for each of %d pairs of coordinates",
			len(s.Short), len(s.Long), len(omega))
	}
	name, divisors := "Short", s.Short
	if s.Tokens > s.Context {
		name, divisors = "Long", s.Long
	}
	for i, divisor := range divisors {
		if omega[i] /= divisor; !(divisor > 0) || math.IsInf(divisor, 0) || omega[i] > math.Pi {
			return 0, fmt.Errorf("RotaryLongRoPE has %s[%d] = %v, want a positive finite number that leaves an angle of at most π", name, i, divisor)
		}
	}
	return s.Length, nil
}

// mix returns (1−s)·w/factor + s·w where s is keep, limited to [0, 1].
func mix(w, factor, keep float64) float64 {
	keep = min(max(keep, 0), 1)
	return (1-keep)*w/factor + keep*w
}

func checkFactor(factor float64) error {
	if !(factor >= 1) || math.IsInf(factor, 0) {
		return fmt.Errorf("the factor of rotary scaling is %v, want a finite number of at least 1", factor)
	}
	return nil
}

func checkContext(n int) error {
	if n < 1 {
		return fmt.Errorf("rotary scaling for a context of %d tokens, want at least 1", n)
	}
	return nil
}
