# Rotary positions by PyTorch in float64, for TestRotaryPyTorch: coordinates are parts of complex
# numbers, which torch.polar turns, as in the first program of Llama. Row t of the input is
# sin(0.7*k), k counted over the matrix.
#
#     python3 rotary.py > rotary.json        (PyTorch 1.13, Debian's python3-torch)

import json

import torch

torch.set_default_dtype(torch.float64)
POSITIONS = [0, 1, 7, 1023, 2048, 20000]
HEADS = 2


def turn(x, positions, base, neighbours):
    """x is (L, H, d)."""
    half = x.shape[-1] // 2
    omega = 1 / base ** (torch.arange(half) * 2 / x.shape[-1])
    angles = torch.outer(torch.tensor(positions).double(), omega)
    phase = torch.polar(torch.ones_like(angles), angles)[:, None, :]
    if neighbours:
        z = torch.view_as_complex(x.reshape(*x.shape[:-1], half, 2).contiguous()) * phase
        return torch.view_as_real(z).flatten(-2)
    z = torch.complex(x[..., :half], x[..., half:]) * phase
    return torch.cat([z.real, z.imag], -1)


cases = []
for d, dim, base in [(8, 8, 10000.0), (8, 4, 10000.0), (6, 6, 500000.0)]:
    for neighbours in [False, True]:
        n = len(POSITIONS)
        x = torch.sin(0.7 * torch.arange(n * HEADS * d)).reshape(n, HEADS, d)
        y = torch.cat([turn(x[..., :dim], POSITIONS, base, neighbours), x[..., dim:]], -1)
        cases.append({"d": d, "dim": dim, "base": base, "neighbours": neighbours, "out": y.reshape(n, HEADS * d).tolist()})
print(json.dumps({"positions": POSITIONS, "cases": cases}, separators=(",", ":")).replace("{\"", "\n{\""))
