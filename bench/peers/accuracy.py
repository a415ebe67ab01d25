"""Accuracy: splits of data sets, what a file of predictions is worth, and what else one could deploy.

A case is {"do": "split" | "boost" | "score" | "svgp" | "exact" | "boosting", "work": FOLDER, ...}. split writes the job's rows and
those kept apart; boost writes both with a column of trees that saw no held-out row of ours, or outside rows alone; the others answer {"risk", "rmse", "coverage", "width"} on the rows kept apart, rmse and the half-width
of 95 % intervals in standard deviations of the target, and peers "bound", by the share of the rows that ours hold out.
"""
import math
import pathlib
import time

import gpytorch
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from scipy.stats import beta
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor

from serve import serve

torch.set_default_dtype(torch.float64)


def split(case):
    """The split of the paper's experiments: the first fifth of a permutation is kept apart, at most so many of the rest are the job's."""
    table = pa.concat_tables(pq.read_table(f) for f in sorted(pathlib.Path(case["data"]).glob("*.parquet")))
    order = np.random.RandomState(case["seed"]).permutation(table.num_rows)
    apart = -(-table.num_rows // 5)
    for name, rows in ("train", order[apart:apart + case["rows"]]), ("test", order[:apart][:20_000]):
        folder = pathlib.Path(case["work"], name)
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.take(np.sort(rows)), folder / "rows.parquet")
        if name == "train":
            scale = float(table[case["target"]].to_numpy()[rows].std())
    return {"rows": min(case["rows"], table.num_rows - apart), "scale": scale}


def boost(case):
    """Both files with the column "boosted": of trees fitted on the job's rows but its held-out rows, or on its outside rows alone."""
    work, trees = pathlib.Path(case["work"]), HistGradientBoostingRegressor(random_state=case["seed"])
    subset = subsets(case)
    fitted = subset != "holdout" if case["trees"] == "all" else subset == case["trees"]
    for name in "train", "test":
        table = pq.read_table(work / name / "rows.parquet")
        x = np.column_stack([table[c].to_numpy() for c in sorted(table.column_names) if c != case["target"]])
        if name == "train":
            trees.fit(x[fitted], table[case["target"]].to_numpy()[fitted])
        folder = work / f"{case['trees']}-{name}"
        folder.mkdir(exist_ok=True)
        pq.write_table(table.append_column("boosted", pa.array(trees.predict(x))), folder / "rows.parquet")
    return {}


def subsets(case):
    """The subset of each of the job's rows, as pacsgp split wrote it."""
    return pq.read_table(pathlib.Path(case["work"], f"{case['trees']}-split.parquet"))["subset"].to_numpy(zero_copy_only=False)


def read(case):
    """Features and target of the rows to train on, of a share of the job's rows that is held out, and of those kept apart."""
    parts = [pq.read_table(pathlib.Path(case["work"], name, "rows.parquet")) for name in ("train", "test")]
    features = sorted(c for c in parts[0].column_names if c != case["target"])
    columns = [np.column_stack([p[c].to_numpy() for c in [*features, case["target"]]]).astype(float) for p in parts]
    centre, scale = columns[0].mean(0), columns[0].std(0)
    keep = [i for i in range(len(features)) if scale[i] > 0]
    scaled = [(c - centre) / np.where(scale > 0, scale, 1) for c in columns]
    parts = [(s[:, keep], s[:, -1]) for s in scaled]
    order = np.random.RandomState(case["seed"]).permutation(len(parts[0][1]))
    held = int(case["share"] * len(order))
    return *[tuple(v[rows] for v in parts[0]) for rows in (order[held:], order[:held])], parts[1], float(scale[-1])


def worth(case, scale, y, mean, half):
    """On the rows kept apart, in standard deviations. Rows without a prediction are missed; coverage and width are of those that have a deviation, and 0 if none has."""
    known = np.isfinite(mean)
    off = np.where(known, np.abs(y - mean), np.inf)
    some = np.isfinite(half)
    return {"risk": float((off > case["epsilon"] / scale).mean()), "rmse": float(np.sqrt((off[known] ** 2).mean())),
            "coverage": float((off[some] <= half[some]).mean()) if some.any() else 0, "width": float(half[some].mean()) if some.any() else 0, "missing": int((~some).sum())}


def score(case):
    *_, (_, y), scale = read(case)
    train = pq.read_table(pathlib.Path(case["work"], "train", "rows.parquet"))[case["target"]].to_numpy().astype(float)
    found = pq.read_table(case["predictions"])
    column = lambda name: found[name].to_numpy(zero_copy_only=False).astype(float)
    return worth(case, scale, y, (column("mean") - train.mean()) / scale, 1.96 * column("predictive_deviation") / scale)


def our_holdout(case):
    """The trees of boost, by the rows that our split holds out."""
    tables = [pq.read_table(pathlib.Path(case["work"], f"all-{name}", "rows.parquet")) for name in ("train", "test")]
    y, mean = ([t[c].to_numpy().astype(float) for t in tables] for c in (case["target"], "boosted"))
    held, scale = subsets({**case, "trees": "all"}) == "holdout", float(y[0].std())
    misses, n = int((np.abs(y[0] - mean[0])[held] > case["epsilon"]).sum()), int(held.sum())
    return {"bound": limit(case, misses, n), **worth(case, scale, y[1] / scale, mean[1] / scale, np.full(len(y[1]), np.nan))}


def limit(case, misses, n):
    """Of Clopper and Pearson."""
    return float(beta.ppf(1 - case["delta"], misses + 1, n - misses))


def certified(case, predict):
    """What the rows held out give: the limit of Clopper and Pearson, and for boosting the intervals of split conformal prediction."""
    _, (held, targets), (test, y), scale = read(case)
    off = np.abs(targets - predict(held)[0])
    misses, n = int((off > case["epsilon"] / scale).sum()), len(off)
    mean, deviation = predict(test)
    half = np.full(len(y), np.sort(off)[min(n, math.ceil(0.95 * (n + 1))) - 1]) if deviation is None else 1.96 * deviation
    return {"bound": limit(case, misses, n), **worth(case, scale, y, mean, half)}


class SVGP(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        q = gpytorch.variational.CholeskyVariationalDistribution(inducing.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, q, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=inducing.size(1)))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def svgp(case):
    """GPyTorch's, until an average over ten epochs gains less than 0.003 nats a row, and ten epochs at a tenth of the rate."""
    train = read(case)[0]
    torch.manual_seed(case["seed"])
    x, targets = map(torch.from_numpy, train)
    centres = KMeans(min(case["inducing"], len(x)), n_init=1, max_iter=10, random_state=case["seed"]).fit(train[0]).cluster_centers_
    model, likelihood = SVGP(torch.from_numpy(centres)), gpytorch.likelihoods.GaussianLikelihood()
    parameters = [*model.parameters(), *likelihood.parameters()]
    elbo, optimizer = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x)), torch.optim.Adam(parameters, lr=0.02)
    before, total, last = math.inf, 0.0, False
    for epoch in range(1, 501):
        for rows in torch.randperm(len(x)).split(1024):
            optimizer.zero_grad()
            loss = -elbo(model(x[rows]), targets[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows) / len(x) / 10
        if epoch % 10 == 0:
            if last:
                break
            if total > before - 0.003 or epoch == 490:
                last, optimizer.param_groups[0]["lr"] = True, 0.002
            before, total = total, 0.0
    return certified(case, predictor(model, likelihood))


def predictor(model, likelihood):
    model.eval(), likelihood.eval()

    def predict(rows):
        with torch.no_grad():
            laws = [likelihood(model(torch.from_numpy(part))) for part in np.array_split(rows, -(-len(rows) // 2000))]
            return [np.concatenate(v) for v in ([p.mean.numpy() for p in laws], [p.variance.sqrt().numpy() for p in laws])]
    return predict


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=x.size(1)))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def exact(case):
    """An exact process on at most 3,000 rows, its hyper-parameters from 1,000 of them."""
    train = read(case)[0]
    order = np.random.RandomState(case["seed"]).permutation(len(train[1]))[:3000]
    x, targets = (torch.from_numpy(v[order]) for v in train)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    with gpytorch.settings.max_cholesky_size(10_000), gpytorch.settings.fast_computations(False, False, False):
        model = Exact(x[:1000], targets[:1000], likelihood)
        evidence, optimizer = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), torch.optim.Adam(model.parameters(), lr=0.1)
        for step in range(100):
            optimizer.zero_grad()
            loss = -evidence(model(x[:1000]), targets[:1000])
            loss.backward()
            optimizer.step()
        model.set_train_data(x, targets, strict=False)
        return certified(case, predictor(model, likelihood))


def boosting(case):
    x, targets = read(case)[0]
    model = HistGradientBoostingRegressor(random_state=case["seed"]).fit(x, targets)
    return certified(case, lambda rows: (model.predict(rows), None))


def answer(case):
    began = time.process_time()
    found = {"split": split, "boost": boost, "score": score, "svgp": svgp, "exact": exact, "boosting": boosting, "boosting, our held-out rows": our_holdout}[case["do"]](case)
    return {**found, "seconds": time.process_time() - began}


if __name__ == "__main__":
    serve(answer)
