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

// LoadFirst returns a vector of the first elements at p, as many as last says, and zeros. label
// begins the names of labels.
func (m Machine) LoadFirst(label string, p, last GP) Vec {
	v := m.Vec()
	m.I("CMP $%d, R%r", m.Lanes(), last)
	m.I("BEQ %j", label+"Whole")
	m.Into(v).LoadElement(p, 0)
	for lane := 1; lane < m.Lanes()-1; lane++ {
		m.I("CMP $%d, R%r", lane, last)
		m.I("BEQ %j", label+"Loaded")
		m.Insert(v, m.LoadElement(p, lane*m.Size), lane)
	}
	m.Jump(label + "Loaded")
	m.Label(label + "Whole")
	m.Into(v).Load(p, 0)
	m.Label(label + "Loaded")
	return v
}

// StoreFirst writes the first elements of v, as many as last says.
func (m Machine) StoreFirst(label string, v Vec, p GP, offset int, last GP) {
	m.I("CMP $%d, R%r", m.Lanes(), last)
	m.I("BEQ %j", label+"Whole")
	m.StoreElement(v, p, offset)
	for lane := 1; lane < m.Lanes()-1; lane++ {
		m.I("CMP $%d, R%r", lane, last)
		m.I("BEQ %j", label+"Stored")
		m.StoreElement(m.Lane(v, lane), p, offset+lane*m.Size)
	}
	m.Jump(label + "Stored")
	m.Label(label + "Whole")
	m.Store(v, p, offset)
	m.Label(label + "Stored")
}
