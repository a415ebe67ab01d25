"""PAC-Bayes training as a good user of PyTorch would write it: the bound itself as the objective, by autograd.

Whitened variational parameters m and C (S = C Cᵀ), Z by k-means, lengthscales by the median heuristic, Adam with a falling
rate, mini-batches, the expected loss in closed form, and the inverse of the binary relative entropy with its implicit
derivative. The first part of the steps maximises the ELBO of a Gaussian likelihood instead: from the prior, the bound leads into a
poor optimum, where most rows are given up (pol: 0.39). At the end θ is put on its grid, and one pass gives the exact bound.

    autograd.py ROWS.npz --inducing M --steps N
"""
import argparse
import json
import math
import time

import torch
from scipy.cluster.vq import kmeans2

from bound import DELTA, JITTER, KLInverse, Rows, evaluate, expected_loss, to_grid

torch.set_default_dtype(torch.float64)


class Model(torch.nn.Module):
    def __init__(self, rows, m):
        super().__init__()
        some = rows.x[torch.randperm(rows.n)[:max(10 * m, 5000)]]
        z, _ = kmeans2(some.numpy(), m, iter=10, minit="points", seed=0)
        ln_scale = torch.cdist(some[:1000], some[:1000]).median().log()
        self.z = torch.nn.Parameter(torch.from_numpy(z))
        self.theta = torch.nn.Parameter(torch.cat([ln_scale.repeat(rows.d), torch.zeros(1)]))
        self.mean = torch.nn.Parameter(torch.zeros(m))
        self.c = torch.nn.Parameter(torch.eye(m))
        self.ln_noise = torch.nn.Parameter(torch.tensor(math.log(0.1)))  # of the ELBO

    def kernel(self, x, z):
        scale = torch.exp(-self.theta[:-1])
        x, z = x * scale, z * scale
        square = x.square().sum(1, keepdim=True) + z.square().sum(1) - 2 * x @ z.T
        return torch.exp(self.theta[-1] - 0.5 * square.clamp(min=0))

    def factor(self):
        """C: lower, with a positive diagonal."""
        return torch.tril(self.c, -1) + torch.diag(self.c.diagonal().abs())

    def forward(self, x):
        variance = self.theta[-1].exp()
        kzz = self.kernel(self.z, self.z) + JITTER * variance * torch.eye(len(self.z))
        phi = torch.linalg.solve_triangular(torch.linalg.cholesky(kzz), self.kernel(self.z, x), upper=False)
        return phi.T @ self.mean, variance - phi.square().sum(0) + (self.factor().T @ phi).square().sum(0)

    def kl(self):
        c = self.factor()
        return 0.5 * (c.square().sum() + self.mean.square().sum() - len(c)) - c.diagonal().log().sum()


def in_order(work, n, size):
    return [work(i, min(n, i + size)) for i in range(0, n, size)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("rows")
    p.add_argument("--inducing", type=int, required=True)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--batch", type=int, default=1024)
    p.add_argument("--rate", type=float, default=0.05)
    p.add_argument("--elbo", type=float, default=0.2, help="part of the steps")
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    torch.manual_seed(0)
    rows = Rows(args.rows)
    torch.linalg.cholesky(torch.eye(600))  # MKL starts
    begun = time.perf_counter()
    model = Model(rows, args.inducing)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    order, at = torch.randperm(rows.n), 0
    constant = rows.price + math.log(2 * math.sqrt(rows.n) / DELTA)
    for step in range(args.steps):
        if at + args.batch > rows.n:
            order, at = torch.randperm(rows.n), 0
        some = order[at:at + args.batch]
        at += args.batch
        optimizer.zero_grad()
        mean, variance = model(rows.x[some])
        if step < args.elbo * args.steps:
            error = ((rows.y[some] - mean).square() + variance).mean()
            loss = 0.5 * (error / model.ln_noise.exp() + model.ln_noise) + model.kl() / rows.n
        else:
            risk = expected_loss(rows.y[some], mean, variance).mean()
            loss = KLInverse.apply(risk, (model.kl() + constant) / rows.n)
        loss.backward()
        optimizer.step()
        schedule.step()
        if args.verbose and step % 20 == 0:
            print(step, f"{loss.item():.4f} kl {model.kl().item():.1f} t {time.perf_counter() - begun:.1f}", flush=True)
    with torch.no_grad():
        c = model.factor()
        precision = torch.linalg.cholesky(torch.cholesky_inverse(c))
        risk, kl, b = evaluate(rows, to_grid(model.theta), model.z, model.mean, precision, in_order)
    print(json.dumps({"bound": b, "risk": risk, "kl": kl, "seconds": time.perf_counter() - begun}), flush=True)


main()
