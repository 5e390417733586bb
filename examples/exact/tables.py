"""Writes the tables of docs/regression.md as .npy files, and measures scikit-learn on them.

python3 tables.py write TRAIN.csv TEST.csv KINDS FOLDER
python3 tables.py write made FOLDER
python3 tables.py peer NAME FOLDER    fits boosting, boosting1000 or KernelRidge, and predicts f.npy
python3 tables.py error FOLDER        prints the error of f.npy
"""
import csv, json, os, resource, sys
import numpy as np

LOGS = {"carat", "x", "y", "z", "price", "sales", "listings", "median"}  # columns of logarithms


def write(train, test, kinds, folder):
    """kinds has a line for each column: name, tab, num, cat, ord=levels, target:num or target:cat."""
    kinds = dict(line.rstrip("\n").split("\t") for line in open(kinds))
    rows = [list(csv.DictReader(open(name))) for name in (train, test)]
    target = next(n for n in kinds if kinds[n].startswith("target"))
    rows = [[r for r in part if r[target]] for part in rows]
    x = [[] for _ in rows]
    for name, kind in kinds.items():
        if name == target:
            continue
        values = [[r[name] for r in part] for part in rows]
        if kind == "cat":
            for level in sorted(set(values[0])):
                for to, part in zip(x, values):
                    to.append([float(v == level) for v in part])
            continue
        if kind.startswith("ord="):
            order = {level: i for i, level in enumerate(kind[4:].split("|"))}
            values = [[order[v] for v in part] for part in values]
        values = [np.array([float(v) if v != "" else np.nan for v in part]) for part in values]
        if name in LOGS:
            values = [np.log(np.maximum(v, 0.1)) for v in values]
        if np.isnan(values[0]).any():
            for to, part in zip(x, values):
                to.append(np.isnan(part).astype(float))
        for to, part in zip(x, values):
            to.append(np.where(np.isnan(part), np.nanmean(values[0]), part))
    y = [np.array([r[target] for r in part]) for part in rows]
    if kinds[target] == "target:cat":
        classes = np.unique(y[0])
        y = [(v[:, None] == classes).astype(float) for v in y]
    else:
        y = [v.astype(float)[:, None] for v in y]
    save(folder, [np.array(v).T for v in x], y, target in LOGS)


def made(folder, n=100_000, d=20):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (n + 10_000, d))
    f = np.sin(3 * x[:, 0::2] * x[:, 1::2]).sum(1)
    y = f[:n] + 0.5 * rng.normal(size=n)
    save(folder, [x[:n], x[n:]], [y[:, None], f[n:, None]], False)  # errors are those of f


def save(folder, x, y, logs):
    mean, deviation = x[0].mean(0), x[0].std(0)
    x = [(v - mean)[:, deviation > 0] / deviation[deviation > 0] for v in x]
    os.makedirs(folder, exist_ok=True)
    if logs:
        y = [np.log(v) for v in y]
    json.dump({"Logs": logs}, open(f"{folder}/about.json", "w"))
    for name, v in zip(("x", "u", "y", "v"), x + y):
        np.save(f"{folder}/{name}.npy", np.ascontiguousarray(v, dtype=np.float32))


def peer(name, folder):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.gaussian_process.kernels import Matern
    from sklearn.kernel_ridge import KernelRidge

    x, u, y = (np.load(f"{folder}/{k}.npy") for k in "xuy")
    begin = resource.getrusage(resource.RUSAGE_SELF)
    if name == "KernelRidge":
        k, mean, ratio = Matern(nu=2.5), y.mean(0), json.load(open(f"{folder}/ratio.json"))
        f = KernelRidge(alpha=ratio, kernel="precomputed").fit(k(x), y - mean).predict(k(u, x)) + mean
    else:
        o = {"random_state": 0, "max_iter": 1000 if name == "boosting1000" else 100}
        if y.shape[1] > 1:
            f = HistGradientBoostingClassifier(**o).fit(x, y.argmax(1)).predict_proba(u)
        else:
            f = HistGradientBoostingRegressor(**o).fit(x, y[:, 0]).predict(u)[:, None]
    end = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime:.3g} s of processor time")
    np.save(f"{folder}/f.npy", f)


def error(folder):
    """The root mean square error, of the numbers if targets are logarithms, or the percentage of wrong classes."""
    f, v = (np.load(f"{folder}/{k}.npy") for k in "fv")
    if v.shape[1] > 1:
        return 100 * (f.argmax(1) != v.argmax(1)).mean()
    if json.load(open(f"{folder}/about.json"))["Logs"]:
        f, v = np.exp(f), np.exp(v)
    return ((f - v) ** 2).mean() ** 0.5


if sys.argv[1] == "peer":
    peer(*sys.argv[2:])
elif sys.argv[1] == "error":
    print(f"error {error(sys.argv[2]):.4g}")
elif sys.argv[2] == "made":
    made(sys.argv[3])
else:
    write(*sys.argv[2:])
