package arm64

import (
	"strings"
	"testing"
)

// TestAllocation writes a loop, in which registers that are needed at the same time must differ and
// others may share one.
func TestAllocation(t *testing.T) {
	f := NewFile("test")
	m := Machines(f)[0]
	m.Begin("sum", "(x *T, c T, n int) T", "returns c·Σx[i].")
	x, c, n := m.Argument("x"), m.Number("c"), m.Argument("n")
	sum := m.Zero()
	m.Label("loop")
	v := m.LoadElement(x, 0)
	scaled := m.Mul(v, c)
	m.Into(sum).Add(sum, scaled)
	m.I("ADD $4, R%m", x)
	m.I("SUBS $1, R%m", n)
	m.I("BNE %j", "loop")
	m.AnswerElement(sum)
	fn := m.fn
	m.End()
	chosen := fn.allocate()
	for _, pair := range [][2]int{{int(sum), int(c)}, {int(sum), int(v)}, {int(sum), int(scaled)}, {int(c), int(scaled)}, {int(x), int(n)}} {
		if chosen[pair[0]] == chosen[pair[1]] {
			t.Errorf("registers %v share %d", pair, chosen[pair[0]])
		}
	}
	if chosen[v] != chosen[scaled] {
		t.Errorf("%d and %d, where one register is enough", chosen[v], chosen[scaled])
	}
	want := "TEXT ·sumF32NEON(SB), NOSPLIT, $0-28\n"
	if !strings.Contains(string(f.Assembly()), want) || !strings.Contains(string(f.Assembly()), "MOVD n+16(FP), R") {
		t.Errorf("%s lacks %s", f.Assembly(), want)
	}
}

// TestFaults requires a panic for what would make a kernel wrong.
func TestFaults(t *testing.T) {
	for name, write := range map[string]func(m Machine){
		"a register that nothing writes": func(m Machine) { m.Add(m.Vec(), m.Vec()) },
		"a jump to nowhere":              func(m Machine) { m.I("B %j", "nowhere") },
		"a label twice":                  func(m Machine) { m.Label("here"); m.Label("here") },
		"an argument that is none":       func(m Machine) { m.Argument("y") },
		"more vectors than registers":    func(m Machine) { v := each(m, 33); m.StoreAll(v, m.Argument("x"), 0) },
		"an operand too many":            func(m Machine) { m.I("ADD $1, R%m", m.Argument("x"), m.GP()) },
		"a register of no kind":          func(m Machine) { m.I("ADD $1, R%m", 7) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s passes", name)
				}
			}()
			m := Machines(NewFile("test"))[0]
			m.Begin("f", "(x *T)", "is wrong.")
			write(m)
			m.End()
		}()
	}
}

func each(m Machine, n int) []Vec {
	v := make([]Vec, n)
	for i := range v {
		v[i] = m.Zero()
	}
	return v
}
