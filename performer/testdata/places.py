# Attention with windows, sinks and ALiBi by PyTorch in float64, for TestPlacesPyTorch: rows of the
# outputs, and of the gradients of sum(out * w) by autograd. Element k of a tensor is sin(a*k + b).
#
#     python3 places.py > places.json        (PyTorch 1.13, Debian's python3-torch)

import json
import math

import torch

torch.set_default_dtype(torch.float64)
HEADS, L, D, DV = 2, 300, 6, 3
ROWS = [0, 1, 5, 44, 255, 256, 299]


def wave(rows, cols, a, b):
    return torch.sin(a * torch.arange(rows * cols) + b).reshape(rows, cols)


def alibi(heads):
    """The slopes of [Press et al. 2022] for a power of two."""
    return [2.0 ** (-8 * (h + 1) / heads) for h in range(heads)]


def attend(q, k, v, causal, window, sinks, slope):
    place = torch.arange(L)
    far = (place[:, None] - place[None, :]).double()
    scores = q @ k.T / math.sqrt(D) - slope * far.abs()
    seen = torch.ones(L, L, dtype=torch.bool)
    if window:
        seen = (far.abs() <= window) | (place[None, :] < sinks)
    if causal:
        seen = seen & (far >= 0)
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ v


cases = []
for causal in [True, False]:
    for window, sinks, slopes in [(7, 0, [0, 0]), (7, 4, [0, 0]), (100, 4, [0, 0]), (0, 0, alibi(2)), (0, 0, alibi(8)[:2]), (40, 3, alibi(2))]:
        for h in range(HEADS):
            if h and not slopes[h]:
                continue
            q, k = 2 * wave(L, D, 1.3, h), 2 * wave(L, D, 0.7, 2 + h)
            v, w = wave(L, DV, 1.9, 4 + h), wave(L, DV, 2.3, 6 + h)
            tensors = [x.requires_grad_() for x in (q, k, v)]
            out = attend(*tensors, causal, window, sinks, slopes[h])
            (out * w).sum().backward()
            cases.append({
                "causal": causal, "window": window, "sinks": sinks, "slope": slopes[h], "head": h,
                "out": out[ROWS].tolist(), "dq": q.grad[ROWS].tolist(), "dk": k.grad[ROWS].tolist(), "dv": v.grad[ROWS].tolist(),
            })
print(json.dumps({"rows": ROWS, "cases": cases}, separators=(",", ":")).replace("{\"", "\n{\""))
