package amd64

import "testing"

// The bytes are those that GNU as 2.40 writes for {vex} vpdpbusd.
func TestEncodeVEX(t *testing.T) {
	for line, want := range map[string]string{
		"\tVPDPBUSD Y2, Y1, Y0\n":                                     "\tLONG $0x5075e2c4; BYTE $0xc2 // VPDPBUSD Y2, Y1, Y0\n",
		"\tVPDPBUSD Y15, Y1, Y0\n":                                    "\tLONG $0x5075c2c4; BYTE $0xc7 // VPDPBUSD Y15, Y1, Y0\n",
		"\tVPDPBUSD Y2, Y15, Y0\n":                                    "\tLONG $0x5005e2c4; BYTE $0xc2 // VPDPBUSD Y2, Y15, Y0\n",
		"\tVPDPBUSD Y2, Y1, Y15\n":                                    "\tLONG $0x507562c4; BYTE $0xfa // VPDPBUSD Y2, Y1, Y15\n",
		"\tVPDPBUSD Y9, Y10, Y12\n":                                   "\tLONG $0x502d42c4; BYTE $0xe1 // VPDPBUSD Y9, Y10, Y12\n",
		"TEXT ·addAVX512(SB), NOSPLIT, $0-8\n\tVPDPBUSD Y2, Y1, Y0\n": "TEXT ·addAVX512(SB), NOSPLIT, $0-8\n\tVPDPBUSD Y2, Y1, Y0\n",
		"\tVPDPBUSD Z2, Z1, Z0\n":                                     "\tVPDPBUSD Z2, Z1, Z0\n",
		"\tVPDPBUSD.BCST (AX), Z1, Z0\n":                              "\tVPDPBUSD.BCST (AX), Z1, Z0\n",
	} {
		if got := EncodeVEX(line); got != want {
			t.Errorf("%q for %q, want %q", got, line, want)
		}
	}
}
