"""What both training programs must agree about: the job, the loss and the exact bound.

A job's rows are scaled by its reference rows, so that ε = 0.6 of their standard deviations is 0.6 here. θ is on a flat
grid of 1,201 values of each logarithm.
"""
import math

import numpy as np
import torch

EPSILON, DELTA = 0.6, 0.01
GRID_MIN, GRID_STEP, GRID_COUNT = -6.0, 0.01, 1201
LEAST_VARIANCE = 1e-14
JITTER = 1e-6  # relative to the kernel's variance


class Rows:
    """x [N×d], y [N]: the train rows, which are certified; xr, yr: the reference rows. All scaled."""

    def __init__(self, path):
        found = np.load(path)
        self.x, self.y, self.xr, self.yr = (torch.from_numpy(np.ascontiguousarray(found[k])) for k in ("x", "y", "xr", "yr"))
        self.n, self.d = self.x.shape
        self.price = (self.d + 1) * math.log(GRID_COUNT)


def to_grid(theta):
    """The nearest grid values of logarithms."""
    return GRID_MIN + GRID_STEP * torch.round((theta - GRID_MIN) / GRID_STEP).clamp(0, GRID_COUNT - 1)


def expected_loss(y, mean, variance):
    """E of 1 where |v−y| ≥ ε, for v ~ N(mean, variance)."""
    s = variance.clamp(min=LEAST_VARIANCE).sqrt()
    return (torch.special.ndtr((y - EPSILON - mean) / s) + torch.special.ndtr((mean - y - EPSILON) / s)).clamp(max=1)


def binary_kl(q, p):
    return (q * math.log(q / p) if q > 0 else 0.0) + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0)


def kl_inverse(q, c):
    """sup {p : kl(q‖p) ≤ c}"""
    low, high = min(1.0, q), 1.0
    if not low < 1 or c > 30:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if binary_kl(q, middle) > c:
            high = middle
        else:
            low = middle
    return high


class KLInverse(torch.autograd.Function):
    """p = sup {p : kl(q‖p) ≤ c}, with dp/dc = p(1−p)/(p−q) and dp/dq = (logit p − logit q) dp/dc."""

    @staticmethod
    def forward(ctx, q, c):
        p = kl_inverse(q.item(), c.item())
        ctx.q, ctx.p = max(1e-12, q.item()), p
        return q.new_tensor(p)

    @staticmethod
    def backward(ctx, grad):
        q, p = ctx.q, ctx.p
        by_c = p * (1 - p) / (p - q)
        return grad * by_c * (math.log(p / (1 - p)) - math.log(q / (1 - q))), grad * by_c


def ln_xi(n):
    """ln of Σ_k C(n,k) (k/n)^k (1−k/n)^(n−k) = Σ_i n!/((n−i)! nⁱ)."""
    total, term = 0.0, 1.0
    for i in range(n + 1):
        total += term
        term *= (n - i) / n
        if term < 1e-20:
            break
    return math.log(total)


def bound(rows, risk, kl):
    """B of the certificate, but for its outward rounding."""
    return kl_inverse(risk, (kl + rows.price + ln_xi(rows.n) + math.log(1 / DELTA)) / rows.n)


def augmented(x, theta, points):
    """[x̃, −|x̃|²/2, 1], or for inducing points [x̃, 1, ln σ² − |x̃|²/2], with x̃ = x/l: a product of one of each is ln k."""
    scaled = x * torch.exp(-theta[:-1])
    square, one = -0.5 * scaled.square().sum(1, keepdim=True), torch.ones(len(x), 1, dtype=x.dtype)
    return torch.cat([scaled, one, square + theta[-1]] if points else [scaled, square, one], 1)


def gram(z, theta):
    """K_ZZ, by direct differences."""
    scaled = z * torch.exp(-theta[:-1])
    return torch.exp(theta[-1] - 0.5 * torch.cdist(scaled, scaled, compute_mode="donot_use_mm_for_euclid_dist").square())


def evaluate(rows, theta, z, mean, precision_factor, sweep):
    """Exact R_S, KL and B of the posterior with whitened mean and Λ = R Rᵀ, for θ on the grid.

    sweep(work, n, size) calls work(from, to) for all blocks of n rows, with the program's own workers, and returns the results.
    """
    assert torch.allclose(theta, to_grid(theta), atol=1e-9)
    variance, m = math.exp(theta[-1]), len(z)
    l = torch.linalg.cholesky(gram(z, theta) + JITTER * variance * torch.eye(m, dtype=z.dtype))
    points = augmented(z, theta, True).T.contiguous()

    def work(start, end):
        phi = torch.mm(augmented(rows.x[start:end], theta, False), points).exp_().T
        torch.linalg.solve_triangular(l, phi, upper=False, out=phi)
        mu, prior = torch.mv(phi.T, mean), torch.linalg.vector_norm(phi, dim=0).square()
        torch.linalg.solve_triangular(precision_factor, phi, upper=False, out=phi)
        v = variance - prior + torch.linalg.vector_norm(phi, dim=0).square()
        return expected_loss(rows.y[start:end], mu, v).sum().item()

    risk = math.fsum(sweep(work, rows.n, 512)) / rows.n
    inverse = torch.linalg.solve_triangular(precision_factor, torch.eye(m, dtype=z.dtype), upper=False)
    kl = 0.5 * (inverse.square().sum() + mean.square().sum() - m + 2 * precision_factor.diagonal().log().sum()).item()
    return risk, kl, bound(rows, risk, kl)
