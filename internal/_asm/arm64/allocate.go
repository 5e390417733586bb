package arm64

import (
	"fmt"
	"math/big"
	"slices"
)

// integers are the registers for integers and addresses, in functions that call no others. The rest
// has a use in Go's calling convention or in its assembler.
var integers = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26}

// allocate returns the number of the machine's register for each register of the function: the
// first that is free wherever the register is in use.
func (f *function) allocate() []int {
	inUse := f.ranges()
	taken := map[bool][]*big.Int{true: make([]*big.Int, 32), false: make([]*big.Int, len(integers))}
	chosen := make([]int, len(f.registers))
	for r, vector := range f.registers {
		if inUse[r] == nil {
			continue
		}
		places := taken[vector]
		i := slices.IndexFunc(places, func(other *big.Int) bool {
			return other == nil || new(big.Int).And(other, inUse[r]).Sign() == 0
		})
		if i < 0 {
			panic(fmt.Sprintf("arm64: %s needs more than %d registers", f.name, len(places)))
		}
		if places[i] == nil {
			places[i] = new(big.Int)
		}
		places[i].Or(places[i], inUse[r])
		if chosen[r] = i; !vector {
			chosen[r] = integers[i]
		}
	}
	return chosen
}

// ranges returns where each register is in use: bit 2i before instruction i, and bit 2i+1 after. A
// register that nothing reads or writes has none.
func (f *function) ranges() []*big.Int {
	labels := map[string]int{}
	for i, c := range f.code {
		if c.label != "" {
			if _, twice := labels[c.label]; twice {
				panic(fmt.Sprintf("arm64: %s has label %s twice", f.name, c.label))
			}
			labels[c.label] = i
		}
	}
	before := make([]*big.Int, len(f.code)+1) // registers that are read later, as bits
	after := make([]*big.Int, len(f.code))
	for i := range before {
		before[i] = new(big.Int)
	}
	for changed := true; changed; {
		changed = false
		for i := len(f.code) - 1; i >= 0; i-- {
			c := f.code[i]
			live := new(big.Int)
			if !c.last {
				live.Set(before[i+1])
			}
			if c.to != "" {
				target, ok := labels[c.to]
				if !ok {
					panic(fmt.Sprintf("arm64: %s has no label %s", f.name, c.to))
				}
				live.Or(live, before[target])
			}
			after[i] = new(big.Int).Set(live)
			for _, r := range c.writes {
				live.SetBit(live, r, 0)
			}
			for _, r := range c.reads {
				live.SetBit(live, r, 1)
			}
			if live.Cmp(before[i]) != 0 {
				before[i], changed = live, true
			}
		}
	}
	if before[0].Sign() != 0 {
		panic(fmt.Sprintf("arm64: %s reads register %d before it is written", f.name, before[0].TrailingZeroBits()))
	}
	inUse := make([]*big.Int, len(f.registers))
	set := func(r, at int) {
		if inUse[r] == nil {
			inUse[r] = new(big.Int)
		}
		inUse[r].SetBit(inUse[r], at, 1)
	}
	for i, c := range f.code {
		for r := range f.registers {
			if before[i].Bit(r) != 0 {
				set(r, 2*i)
			}
			if after[i].Bit(r) != 0 {
				set(r, 2*i+1)
			}
		}
		for _, r := range c.writes {
			set(r, 2*i+1)
		}
	}
	return inUse
}
