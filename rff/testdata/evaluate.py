"""Writes the features of points: evaluate.py map.safetensors points.f64 features.f64"""
import json, struct, sys
import numpy as np

raw = open(sys.argv[1], "rb").read()
(n,) = struct.unpack("<Q", raw[:8])
head = json.loads(raw[8 : 8 + n])
meta = head.pop("__metadata__")
types = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "u1"}
part = lambda t: raw[8 + n :][slice(*t["data_offsets"])]
a = {k: np.frombuffer(part(t), types[t["dtype"]]).reshape(t["shape"]) for k, t in head.items()}

if meta["map.w"] == "Structured":  # one block of an order 2^k: rows of (H·D_k ⋯ H·D_1)/√d'^k
    block = "map.w.blocks.0."
    order, h = int(meta[block + "rotation.order"]), np.ones((1, 1))
    while len(h) < order:
        h = np.block([[h, h], [h, -h]])
    r = np.eye(order)
    words = a[block + "rotation.signs"].reshape(-1, (order + 63) // 64 * 8)
    for signs in 1.0 - 2 * np.unpackbits(words, axis=1, bitorder="little")[:, :order]:
        r = h @ (signs[:, None] * r) / np.sqrt(order)
    w = (a[block + "lengths"][:, None] * r[a[block + "rows"]])[:, : int(meta[block + "rotation.d"])]
else:
    w = a["map.w.frequencies"]
x = np.fromfile(sys.argv[2]).reshape(-1, w.shape[1])
if meta["map.spec"] == "Gaussian":
    t = x @ w.T / float(meta["map.spec.lengthScale"])
    phi = np.hstack([np.cos(t), np.sin(t)])
elif meta["map.spec"] == "SoftmaxPositive":
    s = float(meta["map.spec.scale"])
    phi = np.exp(np.sqrt(s) * (x @ w.T) - s / 2 * (x**2).sum(1, keepdims=True))
(phi / np.sqrt(len(w))).tofile(sys.argv[3])
