package arm64

// Pointers returns the addresses of n rows, stride bytes apart, from p on.
func (m Machine) Pointers(p, stride GP, n int) []GP {
	all := []GP{p}
	for range n - 1 {
		next := m.GP()
		m.I("ADD R%r, R%r, R%w", stride, all[len(all)-1], next)
		all = append(all, next)
	}
	return all
}

// Local returns the address of so many bytes that the function has for itself. A function calls
// Local once at most.
func (m Machine) Local(bytes int) GP {
	m.fn.local = bytes
	p := m.GP()
	m.I("MOVD $local-%d(SP), R%w", bytes, p)
	return p
}

// Transpose returns the columns of a square of vectors.
func (m Machine) Transpose(x []Vec) []Vec {
	if m.Size == 8 {
		return []Vec{m.Permute("VZIP1", x[0], x[1]), m.Permute("VZIP2", x[0], x[1])}
	}
	even := []Vec{m.Permute("VTRN1", x[0], x[1]), m.Permute("VTRN1", x[2], x[3])}
	odd := []Vec{m.Permute("VTRN2", x[0], x[1]), m.Permute("VTRN2", x[2], x[3])}
	return []Vec{
		m.PermuteDoubles("VZIP1", even[0], even[1]), m.PermuteDoubles("VZIP1", odd[0], odd[1]),
		m.PermuteDoubles("VZIP2", even[0], even[1]), m.PermuteDoubles("VZIP2", odd[0], odd[1]),
	}
}
