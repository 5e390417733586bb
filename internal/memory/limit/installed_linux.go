package limit

import "syscall"

// installed returns the bytes of memory and swap space of the machine, 0 if it does not tell.
func installed() uint64 {
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) != nil {
		return 0
	}
	return (uint64(s.Totalram) + uint64(s.Totalswap)) * uint64(s.Unit)
}
