"""Writes components of points: transform.py components.safetensors points.f64 components.f64"""
import json, struct, sys
import numpy as np

raw = open(sys.argv[1], "rb").read()
(n,) = struct.unpack("<Q", raw[:8])
head = json.loads(raw[8 : 8 + n])
meta = head.pop("__metadata__")
part = lambda t: np.frombuffer(raw[8 + n :][slice(*t["data_offsets"])], "<f8").reshape(t["shape"])
a = {k.removeprefix("map."): part(t) for k, t in head.items()}

assert meta["map.of.spec"] == "Gaussian" and meta["map.of.w"] == "Explicit", "a map for which rff/testdata/evaluate.py has more"
w = a["of.w.frequencies"]
t = np.fromfile(sys.argv[2]).reshape(-1, w.shape[1]) @ w.T / float(meta["map.of.spec.lengthScale"])
phi = np.hstack([np.cos(t), np.sin(t)]) / np.sqrt(len(w))
z = (phi - a["mean"]) @ a["components"].T
if meta["map.whiten"] == "true":
    z /= np.sqrt(a["explainedVariance"])
z.tofile(sys.argv[3])
