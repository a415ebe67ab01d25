"""The methods of a certificate: what their claims state, the arithmetic, and what the losses on rows
say to it (formats.md, 6). A new one is a class here, and an entry in METHODS."""
import importlib.util
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from . import betting, unit
from .bound import WIDER, close, gaussian_kl, kl_inverse, ln_inverse_weight, ln_tail, ln_xi, mean_of, per_example, upward
from .curve import LOOSE, OWN, TOLERANCES, check_level, limits, ranks, tolerances
from .groups import LEAST, group_of
from .kernels import U
from .losses import KINDS, UNIT, units, whole
from .refusal import need, ok

AGREEMENT = 1e-7          # of mean losses whose bounds were proven in two ways
WIDEST = 1e-5             # what errors may add to that, this program's own or those of who states more


def total(stated, n):
    """The sum of the losses of n examples."""
    found = int(stated["sum"], 16)
    need(stated["n"] == n and found <= n * UNIT, f"a sum over {stated['n']} examples, of {n}, or above 1 for each")
    return found


def ended(cert):
    """Whether earlier uses have used the held-out rows up, so that no part of delta pays for another (formats.md, 6.6)."""
    return "ended" in cert["delta"].get("holdout_reuse", {})


class Losses:
    """A method that uses the losses of one predictor on the rows of a subset."""
    shows = {"sum"}       # members of these losses in the certificate
    event = None          # the method whose part of delta it shares

    def __init__(self, cert, model):
        self.cert, self.model, self.n = cert, model, unit.examples(cert["counts"], self.subset)
        self.loss_sum = next(t for t in cert["losses"] if (t["predictor"], t["subset"]) == (self.predictor, self.subset))
        self.sum = total(self.loss_sum, self.n) if "sum" in self.loss_sum else None
        self.ended = ended(cert)
        self.parts = []   # what was added, of each row

    def stated(self, name):
        """The claim of a certificate with this identifier."""
        found = [g for g in self.cert["claims"] if g.get("id") == name]
        need(len(found) == 1, f"there are {len(found)} claims {name}")
        return found[0]

    def claim(self, name, terms, inverse):
        """A claim with these terms, of which what stands for zero is left out, from ln 1/δ of its part."""
        close(terms["ln_inverse_delta"], inverse, "ln 1/delta of " + name)
        risk = {} if self.sum is None else {"risk": mean_of(self.sum, self.n, True), **({"misses": self.sum // UNIT} if self.subset == "holdout" else {})}
        return {"id": name, "predictor": self.predictor, "subset": self.subset, "delta": self.cert["delta"]["declared"], "n": self.n, **risk, **{k: v for k, v in terms.items() if v}}

    def near(self, high, own, proven, wider, rounded, gaps=()):
        """The stated sum is that of these losses by unit, of which so much may be this program's own errors, up
        to rounding; larger by no more than said, and where more rows are not proven, by the least gaps to a loss of 1 or more."""
        one, stated, unproven = self.n * UNIT, self.sum, int((proven == 0).sum())
        room, more = Fraction(AGREEMENT) * one, max(0, self.loss_sum.get("unproven", 0) - unproven)
        least, wider = min(own, Fraction(WIDEST) * one), Fraction(wider) * one + (16 * own if self.subset == "training" else 0)
        need(int(sum(gaps[:more]) * UNIT) - room - least <= stated - high <= wider + more * UNIT + rounded, f"the empirical risk is stated as at most {stated / one:.12f}, and proven here is at most {high / one:.12f}: {self.predictor}, {self.subset} rows")
        ok(f"empirical risk, {self.predictor}: proven here at most {high / one:.10f}, {unproven} of {len(proven)} rows unproven; what is stated is off by {(stated - high) / one:+.1e}")


class PacBayes(Losses):
    id, subset, predictor, kl = "pac-bayes", "training", "draw", "kl"

    def __init__(self, cert, model):
        super().__init__(cert, model)
        unproven = self.loss_sum.get("unproven", 0)
        need(unproven <= cert["counts"]["training"] if "units" in cert["counts"] else unproven * UNIT <= self.sum, "rows that are not proven count 1")

    def claims(self, inverse):
        draw = self.of_draws(self.model.mean, inverse)
        return [draw] if self.cert["counts"]["holdout"] else [twice(draw), draw]  # without held-out rows predictions are the mean of Q

    def of_draws(self, centre, inverse):
        """The claim about draws around these weights, from the terms that are stated."""
        g, n, risk, stated = self.stated(self.id), self.n, mean_of(self.sum, self.n, True), self.cert["model"].get(self.kl, 0)
        close(stated, gaussian_kl(centre, self.model.c), "KL")
        terms = {k: g.get(k, 0) for k in ("ln_inverse_weight", "ln_xi", "ln_inverse_delta", "exponent")}
        close(terms["ln_inverse_weight"], ln_inverse_weight(len(self.cert["model"]["kernel"]["families"]), self.model.meta["theta"]), "ln 1/weight of theta")
        close(terms["ln_xi"], ln_xi(n), "ln xi(N)")
        close(terms["exponent"], (Decimal(stated) + sum(Decimal(terms[k]) for k in ("ln_inverse_weight", "ln_xi", "ln_inverse_delta"))) / n * WIDER, "the exponent")
        c = Decimal(terms["exponent"])
        return self.claim("pac-bayes", {**terms, "bound": kl_inverse(Decimal(risk), c), "bound_pinsker": upward(min(Decimal(1), Decimal(risk) + (c / 2).sqrt()))}, inverse)

    def add(self, losses, y, law, rows):
        *near, wide = law
        high, proven = losses.draws(y, *near)
        most = losses.draws(y, *near[:3], wide)[0] if (wide > near[3]).any() else high  # another program may prove no less
        self.parts.append([high, np.where(proven, np.maximum(0, most - losses.draws(y, *near[:2], 0, 0)[0]), 0), proven])

    def agrees(self, ids):
        high, own, proven = np.concatenate(self.parts, axis=1)
        gaps = np.sort(1 - high) if ids is None else ()
        high, own = (whole(units(each, True)) if ids is None else unit.means(ids, units(each, True), True) for each in (high, own))
        self.near(high, own, proven, WIDEST, 0, gaps)


def twice(draw):
    """The claim about the mean of the draws that a claim is about (formats.md, 6.4)."""
    same = {k: v for k, v in draw.items() if k != "risk"}
    return {**same, "id": "pac-bayes-mean", "predictor": "prediction", **{k: min(1.0, 2 * draw[k]) for k in ("bound", "bound_pinsker")}}


class PacBayesMean(PacBayes):
    """Draws with the covariance of Q around the weights of predictions."""
    id, predictor, kl, event = "pac-bayes-mean", "draw-around-prediction", "kl_around", "pac-bayes"

    def claims(self, inverse):
        return [twice(self.of_draws(self.model.weight, inverse))]


def check_limit(k, n, p, inverse):
    """p is the upper limit of Clopper and Pearson for k of n rows, as bisection from Chernoff's bound finds it."""
    if k == n:
        return need(p == 1, "the bound of held-out rows that are all wrong is not 1")
    mean = k / n if Fraction(k / n) == Fraction(k, n) else math.nextafter(k / n, 1)
    low, high = mean, kl_inverse(Decimal(mean), per_example(inverse, n))
    below, far = lambda at: ln_tail(k, n, Decimal(at)) < -Decimal(upward(inverse)), p * 0.99999999999
    need(k / n <= p and (p in (1, high) or below(p)), f"the bound of the held-out rows, {p:.17g}, is below the limit of Clopper and Pearson")
    need(far * n <= k or not below(far), f"the bound of the held-out rows, {p:.17g}, is far from the limit of Clopper and Pearson")
    while low < (middle := low + (high - low) / 2) < high and high - low > 2.0 ** -42 * high:
        low, high = (low, middle) if middle >= p or middle > far and below(middle) else (middle, high)
    need(p == high, f"the bound of the held-out rows is stated as {p:.17g}, and is {high:.17g}")


class Holdout(Losses):
    """The base of methods on held-out rows: their number of misses, or the bound alone."""
    id, subset, predictor = "holdout", "holdout", "prediction"
    bounded = 1           # bounds among which it divides its part of delta

    def __init__(self, cert, model):
        super().__init__(cert, model)
        need("unproven" not in self.loss_sum and (self.sum is None or self.sum % UNIT == 0), "held-out rows show how many are lost, not how many are unproven")
        self.lost = None if self.sum is None else self.sum // UNIT

    def claims(self, inverse):
        g, inverse = self.stated(self.id), inverse + Decimal(self.bounded).ln()
        return [{**self.claim(self.id, {k: g.get(k) for k in ("bound", "ln_inverse_delta")}, inverse), **self.bounds(g, inverse)}]

    def bounds(self, g, inverse):
        """Checks the bound of a claim, and returns its other members."""
        if self.ended:
            need(g["bound"] == 1, "the bound of a use of held-out rows without a part of delta is not 1")
        elif self.sum is None:
            betting.check(g["bound"], self.n, float(g["ln_inverse_delta"]))
        else:
            check_limit(self.lost, self.n, float(g["bound"]), inverse)
        need(self.sum is not None or self.loss_sum["n"] == self.n and self.loss_sum["bound"] == g["bound"], "losses and claim have other bounds")
        return {}

    def add(self, losses, y, law, rows):
        high, proven = losses.points(y, law[0], law[2])
        most = losses.points(y, law[0], np.where(law[3] <= losses.tau / 2, law[3], np.inf))[0]  # another program may prove no less
        self.parts.append([high, losses.points(y, law[0], 0 * law[2])[0], proven, most])

    def agrees(self, ids):
        high, least, proven, most = np.concatenate(self.parts, axis=1)
        if self.sum is not None:
            return self.near(whole(units(high, True)), 0, proven, AGREEMENT, int((most - high).sum() + 1) * UNIT)
        small, large = high - np.minimum(2 * (high - least), WIDEST) - AGREEMENT, most + AGREEMENT  # what its errors add
        if ids is not None:
            small, large = (np.array([part.mean() for part in unit.by_unit(ids, each)]) for each in (small, large))
        if not self.ended:
            betting.agree(small, large, self.loss_sum["bound"], self.n, float(self.stated("holdout")["ln_inverse_delta"]))


class Curve(Holdout):
    id, shows = "curve", {"sum", "beyond"}

    def __init__(self, cert, model):
        super().__init__(cert, model)
        if importlib.util.find_spec("scipy") is None:
            raise ImportError("the certificate has a curve, which is checked with SciPy: pip install scipy")
        epsilon, steps = model.loss["epsilon"], [(s["index"], s["misses"]) for s in self.loss_sum["beyond"]]
        need(2.0 ** -900 <= epsilon <= 2.0 ** 900, "a curve takes a tolerance")
        need(steps[0][0] == 0 and steps[0][1] <= self.n and all(a[0] < b[0] < TOLERANCES and a[1] > b[1] for a, b in zip(steps, steps[1:])), "the counts of errors do not fall with the tolerance")
        self.grid, self.beyond = tolerances(epsilon), np.array([rows for (at, rows), end in zip(steps, [*(s[0] for s in steps[1:]), TOLERANCES]) for _ in range(end - at)])
        self.steps = [(float(self.grid[at]), rows) for at, rows in steps if rows < self.n]  # the first one may be that of all rows
        self.least = self.most = 0  # rows beyond each tolerance

    def bounds(self, g, inverse):
        n, level, own = self.n, g["curve"]["level"], self.model.loss["epsilon"]
        if self.ended:
            need(level == 0, "the curve of a use of held-out rows without a part of delta has a level")
        else:
            check_level(n, level, inverse)
        need(all(rows <= n // 2 for _, rows in self.steps) and (level > 0 or not self.steps), "the curve has steps without a limit")
        k, p = (ranks(n), limits(n, level)) if level else ([], [])
        stated, found = g["curve"]["steps"], []
        for (tolerance, rows), s in zip(self.steps, stated):
            limit = p[np.searchsorted(k, rows)]
            need(abs(s["bound"] / limit - 1) <= LOOSE, f"the curve states {s['bound']} for {rows} of {n} rows, which is not the limit {limit}")
            found.append({"tolerance": tolerance, "misses": rows, "bound": s["bound"]})
        need(len(stated) == len(self.steps), "the curve has not a step for each count of errors")
        need(g["bound"] == next((s["bound"] for s in reversed(found) if s["tolerance"] <= own), 1), "the bound of the curve is not that at the tolerance")
        need(self.beyond[OWN] in (n, self.lost), "the curve and the losses count other rows")
        return {"curve": {"level": level, "steps": found}}

    def add(self, losses, y, law, rows):
        """Counts the rows beyond each tolerance: those that have to be, and those that may be."""
        (mean, _, error, there), tau = law, losses.tau
        off, rounding = np.abs(mean - y), 6 * U * (np.abs(mean) + np.abs(y))
        least, most = np.where(error <= tau, off - (error + rounding) * (1 + 2.0 ** -30) + tau, np.inf), np.where(there <= tau / 2, off + (there + rounding) * (1 + 2.0 ** -30) + 3 * tau, np.inf)
        self.least = self.least + ((least * losses.scale * (1 - 2.0 ** -30))[:, None] > self.grid).sum(axis=0)
        self.most = self.most + ((most * losses.scale * (1 + 2.0 ** -30))[:, None] > self.grid).sum(axis=0)

    def agrees(self, ids):
        n, stated, empty = self.n, self.beyond, self.stated("curve")["curve"]["level"] == 0
        need(self.least[OWN] <= self.lost <= self.most[OWN], "the rows lost at the tolerance of the curve are others")
        need(np.all(self.least <= stated), "fewer rows are beyond a tolerance of the curve than have to be")
        need(np.all((stated <= self.most) | (stated == n) & ((self.most > n // 2) | empty)), "more rows are beyond a tolerance of the curve than can be")


class Groups(Holdout):
    id, shows = "groups", {"sum", "by_group"}

    def __init__(self, cert, model):
        super().__init__(cert, model)
        self.each, self.values = self.loss_sum["by_group"], np.array(cert["groups"]["values"], dtype=float)
        need(len(self.each) == len(self.values) + 1 and all(e["misses"] <= e["n"] for e in self.each) and sum(e["n"] for e in self.each) == self.n
             and sum(e["misses"] for e in self.each) == self.lost, "the groups do not add up to the held-out rows")
        self.prior = cert["groups"].get("prior", [1] * len(self.each))
        need(len(self.prior) == len(self.each) and (sum(self.prior) == cert["counts"]["prior"] or "prior" not in cert["groups"] and cert["counts"]["prior"] == 0), "the groups do not add up to the prior rows")
        self.bounded, self.column = sum(n > 0 for n in self.prior), cert["dataset"]["columns"].index(cert["groups"]["column"])

    def bounds(self, g, inverse):
        found = [{**e, "bound": stated["bound"]} for e, stated in zip(self.each, g["by_group"])]
        for e, prior in zip(found, self.prior):
            if e["n"] < LEAST or prior == 0 or self.ended:
                need(e["bound"] == 1, "a group of too few rows, without prior rows, or of a use of held-out rows without a part of delta, has a bound below 1")
            else:
                check_limit(e["misses"], e["n"], float(e["bound"]), inverse)
        need(len(g["by_group"]) == len(found) and g["bound"] == max(e["bound"] for e in found), "the bound is not the largest of the groups")
        return {"by_group": found}

    def add(self, losses, y, law, rows):
        super().add(losses, y, law, rows)
        self.parts[-1].append(group_of(self.values, rows[self.column]))

    def agrees(self, ids):
        """Each group has its rows; as many are lost as have to be, and at most one more for rounding and those that are proven here alone."""
        high, _, _, most, at = np.concatenate(self.parts, axis=1)
        for g, e in enumerate(self.each):
            n, lost, least = (int(each[at == g].sum()) for each in (at == at, most, high))
            need(e["n"] == n, f"a group has {n} held-out rows, the certificate says {e['n']}")
            need(least <= e["misses"] <= lost + 1, f"of a group {least} held-out rows are lost, the certificate says {e['misses']}")


METHODS = {m.id: m for m in (PacBayes, Holdout, Curve, Groups, PacBayesMean)}


def applied(cert, model):
    """The methods of a certificate, in the order of all, with the losses that it states for them."""
    methods = [m for m in METHODS.values() if m.id in cert["delta"]["methods"]]
    wanted = {}
    for m in methods:
        wanted.setdefault((m.predictor, m.subset), {"predictor", "subset", "n"}).update(m.shows)
    if "units" in cert["counts"] or not KINDS[model.loss["kind"]].counts:
        wanted = {key: members - {"sum"} | {"bound"} if key[1] == "holdout" else members for key, members in wanted.items()}  # its bound depends on more than a sum
    need([((t["predictor"], t["subset"]), t.keys() - {"unproven"}) for t in cert["losses"]] == [*wanted.items()], "the losses are not those that the methods show")
    return [m(cert, model) for m in methods]
