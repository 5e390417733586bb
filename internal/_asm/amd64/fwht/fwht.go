// Package fwht writes the amd64 kernels of package fwht.
package fwht

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/seed-feabd252/randfeat/internal/_asm/amd64"
	"github.com/seed-feabd252/randfeat/internal/_asm/terms"
)

// machine is a machine of which 1<<radix vectors fit the registers with room to work.
type machine struct {
	amd64.Machine
	radix int
	// How instructions are interleaved: the vectors whose inner stages come
	// together, those of them that go in step, and the butterflies whose sums come
	// before their differences.
	together, inStep, group int
}

// Write writes all kernels.
func Write() {
	for _, general := range amd64.Machines {
		m := machine{general, 3, 4, 2, 2}
		if m.Wide {
			m = machine{general, 4, 8, 4, 8}
		}
		m.constants()
		for r := 0; r <= m.radix; r++ {
			m.base(r, plain)
			m.base(r, signed)
			m.base(r, streaming)
		}
		for s := 1; s < m.Log; s++ {
			m.lanes(s)
		}
		for r := 3; r <= m.radix; r++ {
			m.pass(r)
		}
		m.times()
		m.combine()
		m.sums()
		if m.Wide {
			// Shorter vectors with as many registers are for few columns.
			for i, end := range []string{"", "Y", "X"} {
				shorter := m
				shorter.Log -= i
				shorter.Name += end
				for _, h := range terms.Orders {
					shorter.core(h, terms.Of(h))
				}
			}
		}
	}
}

func (m machine) label(s int) string {
	return fmt.Sprintf("sign%d%s", s, strings.TrimRight(m.Name, "XY"))
}

// constants writes the sign bit and, for each stage inside a vector, the vector that is −1 in the
// lanes of the differences and 1 in the others.
func (m machine) constants() {
	m.Table("negative"+m.Name, 1, func(int) uint64 { return 1 << (8*m.Size - 1) })
	for s := range m.Log {
		m.Table(m.label(s), m.Lanes(), func(i int) uint64 { return m.Bits(float64(1 - i>>s&1*2)) })
	}
}

// exchange sets dst to src with each lane and its partner of stage s, 1<<s lanes apart, in each
// other's place.
func (m machine) exchange(s int, src, dst Op) {
	switch m.Size << s {
	case 4:
		VPERMILPS(U8(0xb1), src, dst)
	case 8:
		if m.Size == 4 {
			VPERMILPS(U8(0x4e), src, dst)
		} else {
			VPERMILPD(U8(0x55&(1<<m.Lanes()-1)), src, dst)
		}
	case 16:
		if m.Wide {
			VSHUFF64X2(U8(0xb1), src, src, dst)
		} else {
			VPERM2F128(U8(0x01), src, src, dst)
		}
	default:
		VSHUFF64X2(U8(0x4e), src, src, dst)
	}
}
