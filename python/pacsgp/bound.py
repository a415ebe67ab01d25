"""The arithmetic of the bounds (formats.md, 6)."""
import contextlib
import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from .jsontext import number
from .kernels import exact_products
from .losses import UNIT
from .refusal import need

XI_LIMIT = 10_000_000_000
WIDER = Decimal("1." + "0" * 49 + "1")  # what is rounded up is above an exact float64 too
DIGITS = Context(prec=77, Emax=MAX_EMAX, Emin=MIN_EMIN)


@contextlib.contextmanager
def precise():
    """Runs a check with 77 digits (256 bits), and restores the caller's precision."""
    with localcontext(DIGITS):
        yield


def gaussian_kl(mean, c):
    """The bound on KL(N(mean, CC') || N(0, I)) in nats (formats.md, 6.1): squares without an error, and
    one logarithm of the determinant."""
    every = np.concatenate([mean, c[np.tril_indices(len(mean))]])
    squares = np.concatenate(exact_products(every, every))
    total = math.fsum(squares)
    determinant = Decimal(1)
    for diagonal in c.diagonal().tolist():
        determinant *= Decimal(diagonal)
    divergence = max(Decimal(0), (Decimal(total) + Decimal(math.fsum([*squares, -total])) - len(mean)) / 2 - determinant.ln())
    return divergence + Decimal(1e-9) * (1 + divergence) if divergence else Decimal(1e-9)


def spacing(grid):
    """K: peaks stand at indices that are multiples of it (formats.md, 6.2)."""
    return int(max(1.0, min(float(grid["count"]), math.floor(0.25 / grid["step"] + 0.5))))


def ln_inverse_weight(families, theta):
    """ln 1/p of the kernel's family and of the hyper-parameters (formats.md, 6.2)."""
    total = Decimal(families).ln()
    for p in theta:
        g, i = p["grid"], p["index"]
        if g["prior"] == "flat":
            total += Decimal(g["count"]).ln()
            continue
        rate, centre = Decimal(g["step"]) / Decimal(g["width"]), g.get("centre", 0)
        rho = (-rate).exp()
        z = min(Decimal(g["count"]), spacing(g) - 1 + 2 / (1 - rho))
        total -= (Decimal(7) / 8 * (-rate * abs(i - centre)).exp() / z + Decimal(1) / 8 / g["count"]).ln()
    return total


def ln_xi(n):
    """ln of sum_k C(n,k) (k/n)^k (1-k/n)^(n-k) = sum_i n!/((n-i)! n^i), with terms in units of 2^-62 that are
    rounded up (formats.md, 6.3)."""
    if n > XI_LIMIT:
        return Decimal(4 * n).ln() / 2
    total, term = 0, 1 << 62
    for i in range(1, n + 1):
        total += term
        term = -(-term * (n - i + 1) // n)
        if term <= 4 * (n // i):
            term = -(-term * n // i)
            break
    return (Decimal(total + term) / (1 << 62)).ln()


def kl(q, p):
    first = q * (q / p).ln() if q > 0 else Decimal(0)
    return first + ((1 - q) * ((1 - q) / (1 - p)).ln() if q < 1 else 0)


def kl_inverse(q, c):
    """The largest p with kl(q, p) <= c, rounded up."""
    if q >= 1:
        return 1.0
    inner, outer = q, Decimal(1)
    for _ in range(160):
        middle = (inner + outer) / 2
        if middle < 1 and kl(q, middle) <= c:  # of q near 1 it is rounded to 1
            inner = middle
        else:
            outer = middle
    return upward(outer)


def upward(x, end=math.inf):
    """The nearest float64 at or above an exact number, or at or below it if the end is −inf."""
    nearest = float(x)
    return nearest if nearest == x or (nearest > x) == (end > 0) else math.nextafter(nearest, end)


def per_example(inverse, n):
    """ln 1/delta for each of n examples, both rounded up."""
    return Decimal(upward(Decimal(upward(inverse)) / n * WIDER))


def close(stated, true, what):
    """Checks that a stated number is the true one, rounded up."""
    need(number(stated) and stated == upward(true), f"{what} is stated as {stated!r}, and is {upward(true)!r}")


def mean_of(total, n, up):
    """total·2^-60/n, rounded to a float64 towards the given side."""
    return upward(Fraction(total, n * UNIT), math.inf if up else -math.inf)


def ln_factorial(n):
    """ln n!, by Stirling's series for large n, to 30 digits."""
    if n < 300:
        return Decimal(math.factorial(n)).ln()
    m, two_pi = Decimal(n), Decimal("6.283185307179586476925286766559005768394338798750211641949889")
    series = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156))
    return (m + Decimal("0.5")) * m.ln() - m + two_pi.ln() / 2 + sum(Decimal(a) / b / m ** (2 * j + 1) for j, (a, b) in enumerate(series))


LONGEST = 1 << 18  # terms of a tail after its first: a longer one is not summed (formats.md, 6.4)


def ln_tail(k, n, p):
    """ln P(at most k of n), summed from its largest term down, in units of 2^-128 that are rounded down; 0 < p < 1.
    Where p is no less than k/n, some 12 √k terms are all that count. Of a longer tail it is infinite."""
    term = total = one = 1 << 128
    over, under = p.as_integer_ratio()
    for j in range(k, 0, -1):
        if k - j > LONGEST:
            return Decimal("inf")
        total += (term := term * (j * (under - over)) // ((n - j + 1) * over))
        if term.bit_length() < total.bit_length() - 100:
            break
    return ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) + k * p.ln() + (n - k) * (1 - p).ln() + (Decimal(total) / one).ln()
