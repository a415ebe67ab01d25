"""PAC-Bayes training with closed forms, as well as PyTorch lets one write it.

Start: θ by maximum likelihood of an exact process on some rows, with analytic gradients; lengthscales made longer; Z by
k-means; q the posterior of a Gaussian likelihood, with the noise that the estimated bound likes best. Then steps on
mini-batches that minimise J_b = b·N·R_S + KL: natural gradient for q, Adam for θ and Z with whitened gradients, b
refreshed at each step. At the end θ is put on its grid, q follows for some steps, and one pass gives the exact bound.

Rows go in blocks that two workers with one-threaded kernels take from a queue; M³ work has two-threaded kernels.
In kernel columns k, with a = L⁻ᵀm and A = L⁻ᵀ(S−I)L⁻¹, a row's law is μ = kᵀa, s² = σ² + kᵀAk, and with g and w the
derivatives of its expected loss by μ and s², G = (g a + 2w Ak)∘k needs never to be formed: its sums are those
of k∘Ak and k, weighted.

    closedform.py ROWS.npz --inducing M --steps N
"""
import argparse
import itertools
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from bound import EPSILON, DELTA, JITTER, LEAST_VARIANCE, Rows, augmented, evaluate, gram, kl_inverse, to_grid

torch.set_default_dtype(torch.float64)
WORKERS = 2


def one_threaded():
    torch.set_num_threads(1)


pool = ThreadPoolExecutor(WORKERS, initializer=one_threaded)


def together(run, arguments):
    """run of each argument, by the workers."""
    def quiet(argument):
        with torch.inference_mode():
            return run(argument)
    return list(pool.map(quiet, arguments))


def blocked(work, n, size):
    """The results of work(from, to) over all blocks of n rows."""
    queue = itertools.count(0, size)

    def run(_):
        results = []
        while (start := next(queue)) < n:
            results.append(work(start, min(n, start + size)))
        return results
    return [r for some in together(run, range(WORKERS)) for r in some]


class Adam:
    def __init__(self, like, beta2=0.99):
        self.mean, self.square, self.steps, self.beta2 = torch.zeros_like(like), torch.zeros_like(like), 0, beta2

    def direction(self, gradient):
        self.steps += 1
        self.mean.lerp_(gradient, 0.1)
        self.square.lerp_(gradient.square(), 1 - self.beta2)
        return (self.mean / (1 - 0.9**self.steps)) / ((self.square / (1 - self.beta2**self.steps)).sqrt() + 1e-12)


def maximum_likelihood(x, y, steps):
    """ln lengthscales and ln variance of an exact process with Gaussian noise."""
    n, d = x.shape
    theta = torch.full((d + 2,), 0.5 * math.log(d))
    theta[d], theta[d + 1] = 0.0, math.log(0.1)
    adam, best, least = Adam(theta), theta.clone(), math.inf
    ones, eye = torch.cat([x, torch.ones(n, 1)], 1), torch.arange(n)
    k = torch.empty(n, n)
    for step in range(steps):
        torch.mm(augmented(x, theta[:-1], False), augmented(x, theta[:-1], True).T, out=k).exp_()
        noise, variance = theta[-1].exp(), theta[d].exp()
        kn = k.clone()
        kn[eye, eye] += noise + 1e-8 * variance
        l = torch.linalg.cholesky(kn)
        alpha = torch.cholesky_solve(y[:, None], l)[:, 0]
        nll = (0.5 * y.dot(alpha) + l.diagonal().log().sum()).item()
        if nll < least:
            least, best = nll, theta.clone()
        w = torch.cholesky_inverse(l)
        w.addr_(alpha, alpha, alpha=-1).mul_(0.5)
        gradient = torch.empty_like(theta)
        gradient[-1] = w.diagonal().sum() * noise
        w.mul_(k)
        gx = w @ ones
        gradient[:d] = 2 * (x * (x * gx[:, d:] - gx[:, :d])).sum(0) * torch.exp(-2 * theta[:d])
        gradient[d] = gx[:, d].sum()
        theta = (theta - 0.15 * (1 - 0.8 * step / steps) * adam.direction(gradient)).clamp(-6, 6)
        theta[-1].clamp_(min=math.log(1e-4))
    return best[:-1]


def kmeans(x, theta, m, rounds=8):
    """m centres in scaled inputs."""
    scale = torch.exp(theta[:-1])
    x = x / scale
    z = x[torch.randperm(len(x))[:m]].clone()
    for _ in range(rounds):
        half = 0.5 * z.square().sum(1)
        nearest = torch.empty(len(x), dtype=torch.long)

        def work(i, j):
            nearest[i:j] = torch.addmm(half, x[i:j], z.T, alpha=-1).argmin(1)
        blocked(work, len(x), 1024)
        count = torch.bincount(nearest, minlength=m)
        sums = torch.zeros_like(z).index_add_(0, nearest, x)
        z = torch.where(count[:, None] > 0, sums / count.clamp(min=1)[:, None], z)
    return z * scale


class Scratch:
    """What one worker writes on, and its sums over the rows of a pass."""

    def __init__(self, m, d, block):
        self.k, self.p, self.t = (torch.empty(block, m) for _ in range(3))
        self.h = torch.empty(m, m)          # Σ w k kᵀ, the blocks of its lower triangle
        self.kx = torch.empty(m, d + 1)     # Σ g k (x, 1)ᵀ
        self.tx = torch.empty(m, d + 1)     # Σ 2w (k∘Ak) (x, 1)ᵀ

    def reset(self):
        self.h.zero_()
        self.kx.zero_()
        self.tx.zero_()
        self.gx2, self.total, self.sum_w, self.risk, self.rows = 0.0, 0.0, 0.0, 0.0, 0


class Training:
    def __init__(self, rows, args):
        self.rows, self.args = rows, args
        self.m, self.n, self.d = args.inducing, rows.n, rows.d
        self.block = args.block
        self.scratch = [Scratch(self.m, self.d, self.block) for _ in range(WORKERS)]
        self.start()

    # ------------------------------------------------------------- start values

    def start(self):
        a, rows = self.args, self.rows
        order = torch.randperm(self.n)[:max(0, a.estimate - len(rows.xr))]
        x, y = torch.cat([rows.xr, rows.x[order]])[:a.estimate], torch.cat([rows.yr, rows.y[order]])[:a.estimate]
        clock = time.perf_counter()
        self.theta = maximum_likelihood(x, y, a.estimate_steps)
        self.theta[:-1] += math.log(a.stretch)
        self.theta[-1] += math.log(a.shrink)
        self.times = {"mle": time.perf_counter() - clock}
        clock = time.perf_counter()
        some = torch.randperm(self.n)[:min(self.n, max(10 * self.m, 10_000))]
        self.z = kmeans(rows.x[some], self.theta, self.m)
        self.times["kmeans"] = time.perf_counter() - clock
        clock = time.perf_counter()
        self.posterior(some)
        self.times["posterior"] = time.perf_counter() - clock

    def posterior(self, some):
        """q as the posterior of a Gaussian likelihood; the noise is chosen by the bound on some rows."""
        x, y = self.rows.x[some], self.rows.y[some]
        self.factor()
        points = augmented(self.z, self.theta, True).T.contiguous()

        def work(i, j):
            phi = torch.mm(augmented(x[i:j], self.theta, False), points).exp_().T
            torch.linalg.solve_triangular(self.l, phi, upper=False, out=phi)
            return phi @ phi.T, phi @ y[i:j]
        parts = blocked(work, len(x), 2048)
        g, v = sum(p[0] for p in parts) * (self.n / len(x)), sum(p[1] for p in parts) * (self.n / len(x))
        best = math.inf
        for sd in (0.15, 0.3, 0.6, 1.2, 2.4):
            precision = torch.eye(self.m) + g / sd**2
            r = torch.linalg.cholesky(precision)
            mean = torch.cholesky_solve(v[:, None] / sd**2, r)[:, 0]
            self.mean, self.precision, self.r = mean, precision, r
            self.derive()
            self.sweep(x[:4096], y[:4096], back=False)
            if self.estimate < best:
                best, kept = self.estimate, (mean, precision, r, self.last_risk)
        self.mean, self.precision, self.r, self.risk = kept

    # -------------------------------------------------------------------- steps

    def factor(self):
        self.variance = self.theta[-1].exp().item()
        self.kuu = gram(self.z, self.theta)
        self.l = torch.linalg.cholesky(self.kuu + JITTER * self.variance * torch.eye(self.m))

    def derive(self):
        """From L, m and R: S−I, a, A, KL, and the kernel's factor of the points."""
        s = torch.cholesky_inverse(self.r)
        self.kl = 0.5 * (s.trace() + self.mean.square().sum() - self.m).item() + self.r.diagonal().log().sum().item()
        s.diagonal().sub_(1)
        self.s1 = s
        t = torch.linalg.solve_triangular(self.l.T, s, upper=True)
        self.big = torch.linalg.solve_triangular(self.l, t, upper=False, left=False)
        self.a = torch.linalg.solve_triangular(self.l.T, self.mean[:, None], upper=True)[:, 0]
        self.points = augmented(self.z, self.theta, True).T.contiguous()

    def sweep(self, x, y, back=True):
        """Sums over rows of what a step needs."""
        size, d, stripes = self.block, self.d, 4
        edges = [self.m * i // stripes for i in range(stripes + 1)]
        left = augmented(x, self.theta, False)
        ones = torch.cat([x, torch.ones(len(x), 1)], 1)
        x2 = x.square()
        queue = itertools.count(0, size)

        def run(s):
            s.reset()
            while (start := next(queue)) < len(x):
                end = min(len(x), start + size)
                n = end - start
                k, p, t = s.k[:n], s.p[:n], s.t[:n]
                torch.mm(left[start:end], self.points, out=k).exp_()
                torch.mm(k, self.big, out=p)
                p.mul_(k)  # k∘Ak
                mu, q = torch.mv(k, self.a), p.sum(1)
                v = (q + self.variance).clamp_(min=LEAST_VARIANCE)
                sd = v.sqrt()
                lo, hi = (y[start:end] - EPSILON - mu) / sd, (y[start:end] + EPSILON - mu) / sd
                e = torch.special.ndtr(lo) + torch.special.ndtr(-hi)
                plo, phi = torch.exp(-0.5 * lo * lo), torch.exp(-0.5 * hi * hi)
                g = (phi - plo) / sd * (1 / math.sqrt(2 * math.pi))
                w = (hi * phi - lo * plo) / v * (0.5 / math.sqrt(2 * math.pi))
                s.rows += n
                s.risk += e.sum().item()
                s.sum_w += w.sum().item()
                s.kx.addmm_(k.T, g[:, None] * ones[start:end])
                if back:
                    s.tx.addmm_(p.T, (2 * w)[:, None] * ones[start:end])
                    sums = g * mu + 2 * w * q  # Σ_j G_ij
                    s.gx2 = s.gx2 + sums @ x2[start:end]
                    s.total += sums.sum().item()
                torch.mul(k, w[:, None], out=t)
                for i, j in zip(edges, edges[1:]):
                    s.h[i:, i:j].addmm_(t[:, i:].T, k[:, i:j])
        together(run, self.scratch)
        one, two = self.scratch
        scale = self.n / (one.rows + two.rows)
        self.last_risk = (one.risk + two.risk) / (one.rows + two.rows)
        self.estimate = self.bound_of(self.last_risk)
        self.sum_w, self.total, self.gx2 = scale * (one.sum_w + two.sum_w), scale * (one.total + two.total), scale * (one.gx2 + two.gx2)
        self.kx, self.tx = scale * (one.kx + two.kx), scale * (one.tx + two.tx)
        self.h = (one.h + two.h).mul_(scale)
        for i, j in zip(edges, edges[1:]):  # the triangle's mirror
            self.h[i:j, j:] = self.h[j:, i:j].T

    def bound_of(self, risk):
        return kl_inverse(risk, (self.kl + self.rows.price + math.log(2 * math.sqrt(self.n) / DELTA)) / self.n)

    def weight(self):
        q = min(1 - 1e-4, max(1e-4, self.risk))
        p = min(1 - 1e-9, max(q + 1e-6, self.bound_of(q)))
        return min(6.0, max(0.2, math.log(p / (1 - p)) - math.log(q / (1 - q))))

    def whiten(self):
        """hw = L⁻¹Σgk, H = L⁻¹(Σwkkᵀ)L⁻ᵀ."""
        t = torch.linalg.solve_triangular(self.l, self.h, upper=False)
        self.hw = torch.linalg.solve_triangular(self.l.T, t, upper=True, left=False)
        self.gw = torch.linalg.solve_triangular(self.l, self.kx[:, self.d:], upper=False)[:, 0]

    def natural(self, rate, b):
        """Λ ← (1−r)Λ + r(I + 2bH), m ← m − r S(m + b g); the rate is halved until Λ is well positive definite."""
        while rate > 1e-5:
            precision = self.precision * (1 - rate)
            precision.add_(self.hw, alpha=2 * b * rate)
            precision.diagonal().add_(rate)
            r, failed = torch.linalg.cholesky_ex(precision)
            if not failed and r.diagonal().min() > 0.3:
                self.precision, self.r = precision, r
                self.mean = self.mean - rate * torch.cholesky_solve((self.mean + b * self.gw)[:, None], r)[:, 0]
                return
            rate /= 2

    def gradient(self, b):
        """dJ_b by θ and Z at fixed whitened m and S."""
        d, z = self.d, self.z
        inv2 = torch.exp(-2 * self.theta[:-1])
        # Kernel columns: Gx = Σ_i G_ij (x_i, 1).
        gx = self.tx + self.a[:, None] * self.kx
        g_theta = torch.empty_like(self.theta)
        g_theta[:d] = (self.gx2 + (z * (z * gx[:, d:] - 2 * gx[:, :d])).sum(0)) * inv2
        g_theta[d] = self.total + self.variance * self.sum_w
        g_z = (gx[:, :d] - z * gx[:, d:]) * inv2
        # K_ZZ: −L⁻ᵀ Φ(m gᵀ + 2(S−I)H) L⁻¹.
        x = torch.addmm(torch.outer(self.mean, self.gw), self.s1, self.hw, alpha=2).tril_()
        x.diagonal().mul_(0.5)
        x = torch.linalg.solve_triangular(self.l.T, x, upper=True)
        x = torch.linalg.solve_triangular(self.l, x, upper=False, left=False)
        trace = x.diagonal().sum()
        x.mul_(self.kuu)
        x = x + x.T
        xs = torch.cat([z, torch.ones(self.m, 1)], 1)
        px = x @ xs
        pull = px[:, :d] - z * px[:, d:]
        g_theta[:d] += (z * pull).sum(0) * inv2
        g_theta[d] -= 0.5 * px[:, d].sum() + trace * JITTER * self.variance
        g_z -= pull * inv2
        return b * g_theta, b * g_z

    def train(self):
        a, n = self.args, self.n
        batch = min(n, max(int(n * a.batch), 2 * self.m))
        adam_theta, adam_z = Adam(self.theta), Adam(self.z)
        order, at = torch.randperm(n), 0
        settle = a.steps - int(round(a.settle * a.steps))
        for step in range(a.steps):
            joint = step < settle
            if step == settle:
                self.theta = to_grid(self.theta)
            if joint or step == settle:
                self.factor()
            self.derive()
            if at + batch > n:
                order, at = torch.randperm(n), 0
            some = order[at:at + batch]
            at += batch
            self.sweep(self.rows.x[some], self.rows.y[some], back=joint)
            self.risk = self.last_risk if step == 0 else 0.7 * self.risk + 0.3 * self.last_risk
            b = self.weight()
            if a.verbose:
                print(step, f"{self.estimate:.4f} risk {self.last_risk:.4f} kl {self.kl:.1f} b {b:.2f}", flush=True)
            self.whiten()
            fall = max(0.0, (step / a.steps - a.hold) / (1 - a.hold))
            slow = 1 - 0.8 * fall
            if joint:
                g_theta, g_z = self.gradient(b)
            self.natural(a.rate * (a.rate_last / a.rate)**fall, b)
            if joint:
                self.theta = (self.theta - a.theta_rate * slow * adam_theta.direction(g_theta)).clamp(-6, 6)
                scale = torch.exp(self.theta[:-1])
                self.z = self.z - a.z_rate / math.sqrt(self.d) * slow * min(1, (step + 1) / 10) * scale * adam_z.direction(g_z * scale)
        self.theta = to_grid(self.theta)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("rows")
    p.add_argument("--inducing", type=int, required=True)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--block", type=int, default=512)
    p.add_argument("--estimate", type=int, default=1000)
    p.add_argument("--estimate-steps", type=int, default=40)
    p.add_argument("--stretch", type=float, default=1.2)
    p.add_argument("--shrink", type=float, default=0.8)
    p.add_argument("--batch", type=float, default=0.2)
    p.add_argument("--rate", type=float, default=0.2)
    p.add_argument("--rate-last", type=float, default=0.02)
    p.add_argument("--hold", type=float, default=0.5)
    p.add_argument("--theta-rate", type=float, default=0.03)
    p.add_argument("--z-rate", type=float, default=0.085, help="lengthscales a step, in all d coordinates")
    p.add_argument("--settle", type=float, default=0.05)
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    rows = Rows(args.rows)
    torch.linalg.cholesky(torch.eye(600))  # MKL starts
    begun = time.perf_counter()
    with torch.inference_mode():
        t = Training(rows, args)
        started = time.perf_counter()
        t.train()
        trained = time.perf_counter()
        risk, kl, b = evaluate(rows, t.theta, t.z, t.mean, t.r, blocked)
    done = time.perf_counter()
    print(json.dumps({"bound": b, "risk": risk, "kl": kl, "seconds": done - begun, "start": started - begun,
                      "steps": trained - started, "last_pass": done - trained, **t.times}), flush=True)


main()
