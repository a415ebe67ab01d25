#!/usr/bin/env python3
"""Writes the vectors that the tests of certify are held against.

Independent of the Go code: mpmath with 120 digits, formulas by definition.
Floating-point inputs are written so that they read back exactly; results have
40 digits. Run: python3 vectors.py (mpmath 1.3 or later; about two minutes).
"""
import csv
import json
import math
import random
from fractions import Fraction
from pathlib import Path

from mpmath import mp, mpf, exp, log, log1p, sqrt, gammainc, matrix, det

mp.dps = 120
HERE = Path(__file__).parent
RNG = random.Random(20040312)


def digits(x):
    if 0 < x < mpf(10) ** -400:
        return "0"  # far below the least float64
    return mp.nstr(x, 40, strip_zeros=False, min_fixed=-2, max_fixed=2)


def write(name, header, rows):
    with open(HERE / name, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)
    print(name, len(rows))


def kl(q, p):
    q, p = mpf(q), mpf(p)
    a = q * log(q / p) if q > 0 else mpf(0)
    b = (1 - q) * (log1p(-q) - log1p(-p)) if q < 1 else mpf(0)
    return a + b


def kl_at(q, x):
    """kl(q||p) at p = 1/(1+exp(-x)), exact for p near 0 and near 1."""
    q = mpf(q)
    ln_p, ln_1p = -log1p(exp(-x)), -log1p(exp(x))
    a = q * (log(q) - ln_p) if q > 0 else mpf(0)
    b = (1 - q) * (log1p(-q) - ln_1p) if q < 1 else mpf(0)
    return a + b


def invert(q, c):
    """The p above q with kl(q||p) = c, by bisection of its log-odds."""
    q, c = mpf(q), mpf(c)
    if q == 1:
        return q
    if q == 0:
        return -mp.expm1(-c)
    at = log(q) - log1p(-q)
    step = mpf(1)
    while kl_at(q, at + step) < c:
        step *= 2
    near, far = at, at + step
    for _ in range(240):
        mid = (near + far) / 2
        if kl_at(q, mid) < c:
            near = mid
        else:
            far = mid
    p = 1 / (1 + exp(-(near + far) / 2))
    residual = abs(kl_at(q, (near + far) / 2) - c)
    assert residual < mpf(10) ** -50 * (1 + c), (q, c, residual)
    return p


def xi(n):
    if n <= 2000:  # by definition
        n_ = mpf(n)
        term = lambda k: mp.binomial(n, k) * (mpf(k) / n_) ** k * (1 - mpf(k) / n_) ** (n - k)
        return sum(term(k) for k in range(n + 1))
    if n <= 10**6:  # = exp(n) n^-n Gamma(n+1, n)
        return exp(n - n * log(mpf(n))) * gammainc(n + 1, n)
    total, term, i = mpf(0), mpf(1), 0  # 1 + Ramanujan's Q(n)
    while term > mpf(10) ** -60:
        total += term
        term *= mpf(n - i) / n
        i += 1
    return total


def edge_values():
    return [0.0, 5e-324, 1e-300, 1e-30, 1e-16, 2**-53, 1e-12, 1e-6, 1e-3, .011, .1, .25, .5, .75, .9, .99,
            1 - 1e-6, 1 - 1e-12, 1 - 2**-52, 1 - 2**-53, 1.0]


def random_q():
    kind = RNG.randrange(4)
    if kind == 0:
        return RNG.random()
    if kind == 1:
        return 10 ** RNG.uniform(-15, 0)
    if kind == 2:
        return 1 - 10 ** RNG.uniform(-15, 0)
    return RNG.uniform(0, .2)


def write_kl():
    rows = []
    inner = [p for p in edge_values() if 0 < p < 1]
    pairs = [(q, p) for q in edge_values() for p in inner]
    pairs += [(random_q(), min(max(random_q(), 1e-300), 1 - 2**-53)) for _ in range(300)]
    for _ in range(150):  # neighbours, where terms cancel
        q = RNG.uniform(.001, .999)
        pairs.append((q, min(q * (1 + 10 ** RNG.uniform(-16, -3)), 1 - 2**-53)))
    for q, p in pairs:
        rows.append([repr(q), repr(p), digits(kl(q, p))])
    write("kl.csv", ["q", "p", "kl"], rows)


def write_inverse():
    rows = []
    cs = [1e-300, 1e-40, 1e-18, 1e-12, 1e-9, 1e-6, 1e-3, .05, .5, 2.0, 10.0, 36.0, 40.0, 700.0, 1000.0]
    pairs = [(q, c) for q in edge_values() for c in cs]
    pairs += [(random_q(), 10 ** RNG.uniform(-12, 1.5)) for _ in range(1200)]
    pairs += [(RNG.uniform(0, .3), RNG.uniform(0, .2)) for _ in range(600)]
    for q, c in pairs:
        rows.append([repr(q), repr(c), digits(invert(q, c))])
    write("klinverse.csv", ["q", "c", "upper"], rows)


def write_xi():
    ns = list(range(1, 61)) + [99, 100, 101, 300, 404, 999, 1000, 1500, 2000, 2001, 5000, 12000, 32000, 39146,
                               100000, 1000000, 10**7, 10**8, 10**9, 10**10]
    assert abs(xi(2000) / (exp(2000 - 2000 * log(mpf(2000))) * gammainc(2001, 2000)) - 1) < mpf(10) ** -80
    write("xi.csv", ["n", "ln_xi"], [[n, digits(log(xi(n)))] for n in ns])


def write_weights():
    rows = []
    for case in range(160):
        parameters, total = [], mpf(0)
        for _ in range(RNG.randint(1, 5)):
            count = RNG.choice([1, 2, 3, 25, 97, 1201])
            grid = {"min": -6.0, "step": RNG.choice([.01, .125, .5, 10 ** RNG.uniform(-4, 1)]), "count": count, "prior": "flat"}
            index = RNG.randrange(count)
            if case % 4 == 0:
                total += log(mpf(count))
            else:
                grid.update(prior="peaked", centre=RNG.randrange(count), width=10 ** RNG.uniform(-3, 3))
                r = mpf(grid["step"]) / mpf(grid["width"])
                spacing = max(1, min(count, math.floor(0.25 / grid["step"] + 0.5)))
                z = min(mpf(count), spacing - 1 + 2 / (1 - exp(-r)))
                total -= log(mpf(7) / 8 * exp(-r * abs(index - grid["centre"])) / z + mpf(1) / 8 / count)
            parameters.append({"name": f"p{len(parameters)}", "grid": grid, "index": index})
        rows.append([json.dumps(parameters), digits(total)])
    write("weights.csv", ["parameters", "ln_inverse_weight"], rows)


def write_gaussian():
    rows = []
    for case in range(160):
        m = RNG.randint(1, 7)
        spread = RNG.choice([0, 1, 4, 8])
        mean = [RNG.gauss(0, 1) * 10 ** RNG.uniform(-spread, spread / 2) for _ in range(m)]
        factor = [[0.0] * m for _ in range(m)]
        for i in range(m):
            for j in range(i):
                factor[i][j] = RNG.gauss(0, 1) * 10 ** RNG.uniform(-spread, spread / 2)
            factor[i][i] = 10 ** RNG.uniform(-spread, spread / 2)
        if case % 8 == 0:  # close to the prior, where everything cancels
            mean = [x * 1e-9 for x in mean]
            factor = [[(1 + 1e-9 * RNG.random()) * (i == j) for j in range(m)] for i in range(m)]
        c = matrix([[mpf(x) for x in row] for row in factor])
        s = c * c.T
        trace = sum(s[i, i] for i in range(m))
        value = (sum(mpf(x) ** 2 for x in mean) + trace - m - log(det(s))) / 2
        rows.append([json.dumps(mean), json.dumps([x for row in factor for x in row]), digits(value)])
    write("gaussian.csv", ["mean", "factor", "kl"], rows)


def write_risk():
    rows = []
    for _ in range(120):
        losses = [min(1.0, RNG.choice([0.0, 1.0, RNG.random(), 10 ** RNG.uniform(-25, 0), 2**-60, 3 * 2**-61]))
                  for _ in range(RNG.randint(1, 40))]
        units = sum(math.ceil(Fraction(x) * 2**60) for x in losses)
        mean = mpf(sum(Fraction(x) for x in losses).numerator) / sum(Fraction(x) for x in losses).denominator / len(losses)
        rows.append([json.dumps(losses), f"{units:032x}", digits(mean)])
    write("risk.csv", ["losses", "sum", "mean"], rows)


def write_bounds():
    """Whole bounds; k alternatives share delta, but not that of the held-out bound."""
    rows, cache, rng = [], {}, random.Random(2005)
    ns = [1, 2, 8, 80, 300, 404, 1000, 2000, 12000, 32000, 39146, 10**6, 10**9]
    for case in range(420):
        n = RNG.choice(ns)
        if n not in cache:
            cache[n] = log(xi(n))
        risk = RNG.choice([0.0, 1.0, RNG.random(), random_q(), RNG.uniform(0, .3)])
        kl_q = RNG.choice([0.0, RNG.uniform(0, .3) * n, 10 ** RNG.uniform(-9, 4)])
        weight = RNG.choice([0.0, 14.180, RNG.uniform(0, 200)])
        delta = RNG.choice(["0.01", "0.05", "0.001", "0.3", "1e-12", "0.99"])
        inverse_delta = -log(mpf(delta))
        k = rng.choice([1, 1, 2, 12, 1000])
        c = (mpf(kl_q) + mpf(weight) + cache[n] + inverse_delta + log(mpf(k))) / n
        upper = invert(risk, c)
        pinsker = min(mpf(1), mpf(risk) + sqrt(c / 2))
        holdout = invert(risk, inverse_delta / n)
        rows.append([repr(risk), repr(kl_q), repr(weight), n, delta, k] + [digits(x) for x in (c, upper, pinsker, holdout)])
    write("bounds.csv", ["risk", "kl", "ln_inverse_weight", "n", "delta", "alternatives", "exponent", "upper", "pinsker", "holdout"], rows)


def write_delta():
    """ln 1/(delta/K); a generator of its own, so that it moves no other file."""
    rng, rows = random.Random(1933), []
    for delta in ["0.01", "0.05", "0.3", "0.99", "1e-12", "0.001", "0.07"]:
        for alternatives in [1, 2, 3, 7, 10, 64, 10 ** 9 + 7, rng.randrange(2, 1000)]:
            rows.append([delta, alternatives, digits(-log(mpf(delta) / alternatives))])
    write("delta.csv", ["delta", "alternatives", "ln_inverse_delta"], rows)


def write_binomial():
    """Upper limits of Clopper and Pearson: the tail summed by definition from its largest
    term down, its logarithm brought to that of delta by bisection and regula falsi."""
    def ln_tail(n, k, p):
        term = total = mpf(1)
        for j in range(k, 0, -1):
            term *= j * (1 - p) / ((n - j + 1) * p)
            total += term
            if term < mpf(10) ** -48:
                break
        choose = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
        return choose + k * log(p) + (n - k) * log(1 - p) + log(total)

    rows = []
    with mp.workdps(50):
        for n in [1, 2, 10, 81, 200, 2400, 6000, 16000, 100000, 10**7]:
            for k in sorted({0, 1, 4, 30, 64, 511, n // 2, n - 1, n // 100, n // 10}):
                if k >= n or n >= 100000 and k > 511:
                    continue
                for delta in ["0.3", "0.01", "0.005", "1e-6"]:
                    excess = lambda p: ln_tail(n, k, p) - log(mpf(delta))
                    a, b = max(mpf(k) / n, mpf(10) ** -30), 1 - mpf(10) ** -40
                    if excess(a) < 0:
                        continue
                    for _ in range(40):
                        middle = (a + b) / 2
                        a, b = (middle, b) if excess(middle) > 0 else (a, middle)
                    root = mp.findroot(excess, (a, b), solver="anderson", tol=mpf(10) ** -80, maxsteps=200, verify=False)
                    assert abs(excess(root)) < mpf(10) ** -40
                    rows.append([n, k, delta, mp.nstr(root, 40)])
    write("binomial.csv", ["n", "k", "delta", "limit"], rows)


def write_next():
    """The average chance of a miss so far: the root of the mixture's equation, by bisection."""
    rates = [math.ldexp(4, -(j // 2)) * (math.sqrt(.5) if j % 2 else 1) for j in range(16)]
    rows = []
    with mp.workdps(50):
        for n in [1, 2, 10, 81, 1000, 10**4, 10**5, 10**7, 10**12]:
            for k in sorted({0, 1, 12, n // 2, n, n // 100, 12 * n // 1000, n // 10}):
                for delta in ["0.5", "0.01"]:
                    if k > n:
                        continue
                    excess = lambda p: log(sum(exp(-mpf(r) * k - n * log(1 - p * (1 - exp(-mpf(r))))) for r in rates) / 16) + log(mpf(delta))
                    a, b = mpf(k) / n, mpf(1)
                    if excess(b) < 0:
                        a = b
                    for _ in range(140):
                        middle = (a + b) / 2
                        a, b = (middle, b) if excess(middle) < 0 else (a, middle)
                    rows.append([n, k, delta, mp.nstr(b, 40)])
    write("next.csv", ["n", "losses", "delta", "bound"], rows)


def write_tests_of_rows():
    """What the bets of the alarm are worth, in exact fractions, after rows that follow from
    their numbers."""
    miss = lambda i, seed, rate: (i * i * 7919 + i * 104729 + seed) % 1009 < rate
    rows = []
    for bound, rate in [("0.05", 40), ("0.05", 70), ("0.3", 150), ("0.012", 12), ("1", 900)]:
        for n in [1, 7, 250, 1100]:
            r0, odds = Fraction(float(bound)), [Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(4), Fraction(8)]
            block, stakes, worth = math.ceil(10 / float(bound)), [Fraction(0)] * 5, Fraction(1)
            for i in range(n):
                s = i // block + 1
                if i % block == 0:
                    stakes = [a + Fraction(1, 5 * s * (s + 1)) for a in stakes]
                x = 1 if miss(i, 17, rate) else Fraction(i % 4, 8) if bound == "0.3" else 0
                stakes = [Fraction(a * (1 + (o - 1) * x) / (1 + (o - 1) * r0)).limit_denominator(10**60) for a, o in zip(stakes, odds)]
                worth = sum(stakes) + Fraction(1, s + 1)
            rows.append(["alarm", bound, rate, n, digits(mpf(worth.numerator) / worth.denominator)])
    write("bets.csv", ["test", "first", "second", "n", "worth"], rows)


def write_betting():
    """The risk r at which the mean over the stakes c of prod (1 + c (r - X)/(1 - r)) is 1/delta,
    with c = 1/(1 + 2^j), j from -8 to 7: by the definition, on the losses themselves. Of grids
    the losses are multiples of 1/1024."""
    rng, rows = random.Random(2024), []
    stakes = [1 / (1 + mpf(2) ** j) for j in range(-8, 8)]

    def wealth(r, losses):
        total = mpf(0)
        for c in stakes:
            total += exp(sum(count * log(1 + c * (r - mpf(x)) / (1 - r)) for x, count in losses))
        return total / len(stakes)

    with mp.workdps(50):
        for n in [1, 5, 60, 200, 1200, 10000, 10 ** 6, 10 ** 9]:
            for case in range(6):
                grid, most = case % 2 == 0, [1.0, 0.1, 0.01][case // 2]
                values = sorted({rng.randrange(round(1024 * most) + 1) / 1024 if grid else rng.random() * most for _ in range(min(n, 7))})
                if case == 4:
                    values = [0.0]
                counts = [n // len(values)] * len(values)
                counts[0] += n - sum(counts)
                losses = list(zip(values, counts))
                for delta in ["0.3", "0.009", "1e-6"]:
                    a, b = mpf(sum(mpf(x) * k for x, k in losses)) / n, 1 - mpf(10) ** -30
                    if wealth(b, losses) < 1 / mpf(delta):
                        continue
                    for _ in range(150):
                        middle = (a + b) / 2
                        a, b = (middle, b) if wealth(middle, losses) < 1 / mpf(delta) else (a, middle)
                    rows.append([json.dumps(losses), int(grid), delta, mp.nstr(b, 40)])
    write("betting.csv", ["losses", "grid", "delta", "limit"], rows)


def band_limits(n, level):
    """The p with P(at most k of n) = level, for k = 0 .. n/2."""
    def tail(k, p):
        term, total = (1 - p) ** n, mpf(0)
        for j in range(k + 1):
            total, term = total + term, term * (n - j) / (j + 1) * p / (1 - p)
        return total
    found = []
    for k in range(n // 2 + 1):
        a, b = mpf(k) / n, mpf(1)
        for _ in range(30):
            middle = (a + b) / 2
            a, b = (middle, b) if tail(k, middle) > level else (a, middle)
        found.append(mp.findroot(lambda p: log(tail(k, p)) - log(level), (a, b), solver="anderson", tol=mpf(10) ** -80, maxsteps=200, verify=False))
    return found


def write_band():
    """One-sided band of Berk and Jones: limits at a level, and the probability that of n uniform
    numbers at most k are at most limit k for some k of every step-th: from count to count, each binomial given the one before."""
    limits, crossings = [], []
    with mp.workdps(60):
        for n, step, ratio, part in [(1, 1, "1.5", "0.01"), (2, 1, "2", "0.3"), (5, 1, "4", "0.01"), (20, 1, "5.9072", "0.01"), (20, 1, "9", "1e-30"), (60, 1, "10", "0.05"), (60, 7, "5", "0.05"), (110, 1, "12", "0.01"), (110, 20, "4", "0.3")]:
            level = mpf(part) / mpf(ratio)
            bounds = band_limits(n, level)
            for k in sorted({0, min(1, n // 2), n // 4, n // 2}):
                if step == 1:
                    limits.append([n, k, part, ratio, mp.nstr(bounds[k], 40)])
            alive, before, failed = {0: mpf(1)}, mpf(0), mpf(0)
            for k in [*range(0, n // 2, step), n // 2]:
                bound = bounds[k]
                p, after = (bound - before) / (1 - before), {}
                for m, chance in alive.items():
                    term = chance * (1 - p) ** (n - m)
                    for more in range(n - m + 1):
                        if more:
                            term = term * (n - m - more + 1) / more * p / (1 - p)
                        after[m + more] = after.get(m + more, mpf(0)) + term
                failed += mp.fsum(chance for m, chance in after.items() if m <= k)
                alive, before = {m: chance for m, chance in after.items() if m > k}, bound
            crossings.append([n, step, part, ratio, mp.nstr(failed, 40)])
    write("bandlimits.csv", ["n", "k", "part", "ratio", "limit"], limits)
    write("crossings.csv", ["n", "step", "part", "ratio", "probability"], crossings)


if __name__ == "__main__":
    write_risk()
    write_weights()
    write_gaussian()
    write_kl()
    write_xi()
    write_bounds()
    write_inverse()
    write_delta()
    write_binomial()
    write_next()
    write_tests_of_rows()
    write_betting()
    write_band()
