"""Writes means and standard deviations, or probabilities, at points: predict.py model.safetensors points.f64 predictions.f64"""
import json, struct, sys
import numpy as np

raw = open(sys.argv[1], "rb").read()
(n,) = struct.unpack("<Q", raw[:8])
head = json.loads(raw[8 : 8 + n])
meta = head.pop("__metadata__")
part = lambda t: np.frombuffer(raw[8 + n :][slice(*t["data_offsets"])], {"F64": "<f8", "F32": "<f4"}[t["dtype"]]).reshape(t["shape"])
a = {k.removeprefix("model."): part(t).astype("f8") for k, t in head.items()}

assert meta["model.map.spec"] == "Gaussian" and meta["model.map.w"] == "Explicit", "a map for which rff/testdata/evaluate.py has more"
w = a["map.w.frequencies"]
t = np.fromfile(sys.argv[2]).reshape(-1, w.shape[1]) @ w.T / float(meta["model.map.spec.lengthScale"])
phi = np.hstack([np.cos(t), np.sin(t)]) / np.sqrt(len(w))
if meta["model"] == "Model":
    centred = phi - a["featureMean"]
    mean = a["targetMean"] + centred @ a["weights"]
    r = np.zeros((phi.shape[1],) * 2)
    r[np.tril_indices(len(r))] = a["root"]  # R⁻ᵀ of A = RᵀR
    variance = ((r @ centred.T) ** 2).sum(0) + (meta["model.centred"] == "true") / float(meta["model.rowWeight"])
    np.hstack([mean, np.sqrt(np.outer(1 + variance, a["noise"]))]).tofile(sys.argv[3])
else:
    z = np.exp((phi - a["featureMean"]) @ a["weights"] + a["intercepts"])
    (z / z.sum(1, keepdims=True)).tofile(sys.argv[3])
