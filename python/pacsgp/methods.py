"""The methods of a certificate: what their guarantees state, the arithmetic, and what the
losses on rows say to it (format.md, 6). A new one is a file with such a class, and its place
in METHODS."""
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from . import betting, unit
from .bound import SUMMABLE, close, gaussian_kl, guarantee, kl_inverse, ln_inverse_weight, ln_tail, ln_xi, mean_of
from .curve import LOOSE, OWN, check_level, limits, ranks, tolerances
from .groups import LEAST, right_values
from .jsontext import count, number
from .kernels import U
from .losses import KINDS, UNIT, units
from .refusal import need, ok

AGREEMENT = 1e-7          # of mean losses whose bounds were proven in two ways
WIDEST = 1e-5             # what errors may add to that, this program's own or those of who states more


class Losses:
    """A method that rests on the losses of one predictor on the rows of a role. Found are
    their sum and the rows that are not proven. The first of its names, with the theorem, is
    that of the guarantee that states them."""
    members = {}          # that only its guarantees have, with their forms

    def __init__(self, cert):
        self.high = self.unproven = self.width = 0
        self.ids, self.sums = None, unit.Sums()  # the units of the rows that are added; None: rows are examples

    @classmethod
    def stated(cls, cert, found):
        """What a certificate states, as far as it does not contradict itself."""
        g, rows = guarantee(cert, cls.names[0]), unit.examples(cert["ledger"], cls.role)
        found[cls.id], found["unproven " + cls.id] = stated_sum(g["empirical_risk"], rows), g["unproven"]
        need("units" in cert["ledger"] and g["unproven"] <= cert["ledger"][cls.role] or g["unproven"] * UNIT <= found[cls.id], "rows that are not proven count 1")

    @classmethod
    def about(cls, found, loss, delta):
        """The members of its guarantees that follow from sums."""
        rows = unit.examples(found["ledger"], cls.role)
        return {"id": cls.names[0], "predictor": cls.predictor, "role": cls.role, "status": "", "loss": loss, "delta": delta, "n": rows,
                "empirical_risk": {"exact": {"count": rows, "sum": f"{found[cls.id]:032x}"}, "upper": mean_of(found[cls.id], rows, True)}, "unproven": found["unproven " + cls.id]}

    def count(self, high, proven, own=None):
        """Adds losses, of which so much may be this program's own errors."""
        self.unproven += int((~proven).sum())
        own = np.zeros(len(high)) if own is None else own
        if self.ids is None:
            self.high, self.width = self.high + units(high, True), self.width + units(own, True)
        else:
            self.sums.add(self.ids, unit.in_units(high, True), unit.in_units(own, True))

    def agrees(self, found, rounded=0):
        """The stated sum is this program's, up to rounding; larger only as far as there are more
        rows that are not proven."""
        one, stated = unit.examples(found["ledger"], self.role) * UNIT, found[self.id]
        if self.ids is not None:
            self.high, self.width = self.sums.means(0, True), self.sums.means(1, True)
        room, more = Fraction(AGREEMENT) * one, max(0, found["unproven " + self.id] - self.unproven) * UNIT
        own = min(self.width, Fraction(WIDEST) * one)
        wider = Fraction(WIDEST) * one + 4 * self.width if self.role == "train" else room * (1 if self.ids is None else 10)  # a larger risk promises less
        need(-room - own <= stated - self.high <= wider + more + rounded, f"the empirical risk is stated as at most {stated / one:.12f}, and proven here is at most {self.high / one:.12f}: {self.predictor}, {self.role} rows")
        ok(f"empirical risk, {self.predictor}: proven here at most {self.high / one:.10f}, {self.unproven} of {one // UNIT} rows unproven; what is stated is off by {(stated - self.high) / one:+.1e}")


class PacBayes(Losses):
    id, role, predictor = "pac-bayes", "train", "draw of Q"
    members = dict.fromkeys(("kl", "ln_inverse_weight", "ln_xi", "exponent", "bound_pinsker"), number)
    names = ("pb-full", "mean-2b")

    @staticmethod
    def check(cert, model, found, inverse):
        draw, n, divergence = guarantee(cert, "pb-full"), unit.examples(found["ledger"], "train"), gaussian_kl(model)
        slack = Decimal("1e-9") * (1 + divergence)
        close(draw["kl"], divergence + slack - Decimal("2e-11") * (1 + divergence), "KL", loose="4e-11")
        close(draw["ln_inverse_weight"], ln_inverse_weight(len(cert["kernel"]["families"]), cert["theta"]), "ln 1/weight of theta")
        close(draw["ln_xi"], ln_xi(n), "ln xi(N)", loose="2e-11")
        close(draw["ln_inverse_delta"], inverse, "ln 1/delta of the share")
        c = sum(Decimal(draw[k]) for k in ("kl", "ln_inverse_weight", "ln_xi", "ln_inverse_delta")) / n
        close(draw["exponent"], c, "the exponent")
        c, risk = Decimal(draw["exponent"]), Decimal(mean_of(found["pac-bayes"], n, True))
        close(draw["bound"], min(Decimal(1), kl_inverse(risk, c)), "the bound B")
        close(draw["bound_pinsker"], min(Decimal(1), risk + (c / 2).sqrt()), "Pinsker's bound")

    @classmethod
    def derive(cls, cert, found, loss, delta):
        stated = guarantee(cert, "pb-full")
        terms = {k: float(stated[k]) for k in ("kl", "ln_inverse_weight", "ln_xi", "ln_inverse_delta", "exponent", "bound", "bound_pinsker")}
        draw = {**cls.about(found, loss, delta), **{k: v for k, v in terms.items() if v or k in ("ln_inverse_delta", "bound")}}
        return [draw] if judged(cert) else [draw, {**draw, "id": "mean-2b", "predictor": "predictor", **{k: min(1.0, 2 * draw[k]) for k in ("bound", "bound_pinsker") if k in draw}}]

    def add(self, losses, y, law, rows):
        high, proven = losses.draws(y, *law)
        self.count(high, proven, np.where(proven, np.maximum(0, high - losses.draws(y, *law[:2], 0, 0)[0]), 0))


def check_limit(k, n, p, inverse):
    """p is the upper limit of Clopper and Pearson for k of n rows, but for its last digits."""
    if k == n:
        return need(p == 1, "the bound of a hold-out that is all wrong is not 1")
    need(Decimal(k) / n <= p and (p == 1 or ln_tail(k, n, p) < -inverse), f"the bound of the hold-out, {p:.17g}, is below the limit of Clopper and Pearson")
    need(k == 0 or p * Decimal("0.99999999999") * n <= k or ln_tail(k, n, p * Decimal("0.99999999999")) >= -inverse, f"the bound of the hold-out, {p:.17g}, is far from the limit of Clopper and Pearson")


class Holdout(Losses):
    id, role, predictor = "holdout", "holdout", "predictor"
    names = ("holdout",)

    @classmethod
    def stated(cls, cert, found):
        g = guarantee(cert, "holdout")
        found["alone"] = shows_bound_alone(cert, g)
        if found["alone"]:
            found["holdout"], found["unproven holdout"] = 0, g["unproven"]
            found["bound"] = None if unpriced(cert) else (float(g["bound"]), unit.examples(cert["ledger"], "holdout"), float(g["ln_inverse_delta"]))
        else:
            super().stated(cert, found)
        need(found["holdout"] % UNIT == 0, "the sum of the losses on hold-out rows is no whole number")
        need(found["unproven holdout"] == 0, "hold-out rows show how many are lost, not how many are unproven")

    @staticmethod
    def check(cert, model, found, inverse):
        g, n = guarantee(cert, "holdout"), unit.examples(found["ledger"], "holdout")
        need(n <= SUMMABLE, f"{n} hold-out rows are more than this program can check")
        close(g["ln_inverse_delta"], inverse, "ln 1/delta of the hold-out")
        if unpriced(cert):
            return need(g["bound"] == 1, "the bound of a look that cannot be paid for is not 1")
        if found["alone"]:
            betting.check(g["bound"], n, float(g["ln_inverse_delta"]))
            return
        k = -(-found["holdout"] // UNIT)
        check_limit(k, n, Decimal(g["bound"]), inverse)

    @classmethod
    def derive(cls, cert, found, loss, delta):
        stated = guarantee(cert, "holdout")
        g = {**cls.about(found, loss, delta), "ln_inverse_delta": float(stated["ln_inverse_delta"]), "bound": float(stated["bound"])}
        return [{k: v for k, v in g.items() if k != "empirical_risk" or not found["alone"]}]

    def __init__(self, cert):
        super().__init__(cert)
        self.narrowly = 0  # rows that are proven here, but perhaps not there
        self.spreads = betting.Spreads()

    def add(self, losses, y, law, rows):
        high, proven = losses.points(y, law[0], law[2])
        narrowly = proven & (law[2] > losses.tau / 2)
        self.narrowly += int(narrowly.sum())
        if self.ids is None:
            self.count(high, proven)
        if self.ids is not None:
            least = losses.points(y, law[0], 0 * law[2])[0]
            self.sums.add(self.ids, least, np.where(narrowly, 1.0, high))
        elif not KINDS[losses.kind].counts:
            own = np.minimum(2 * (high - losses.points(y, law[0], 0 * law[2])[0]), WIDEST)  # what its errors add
            self.spreads.add(high - own - AGREEMENT, np.where(narrowly, 1, high + AGREEMENT))

    def agrees(self, found):
        if found["alone"]:
            if self.sums.units:
                self.spreads.add(self.sums.averages(0) - WIDEST, self.sums.averages(1) + AGREEMENT)
            return self.spreads.agree(*found["bound"]) if found["bound"] else None
        super().agrees(found, (1 + self.narrowly) * UNIT)


def numbered(steps):
    """Steps of a curve with float64 numbers, which JSON may write as integers."""
    return [{"tolerance": float(s["tolerance"]), "misses": s["misses"], "bound": float(s["bound"])} for s in steps]


class Curve(Losses):
    id, role, predictor = "curve", "holdout", "predictor"
    names = ("curve",)
    members = {"curve": {"level": number, "steps": [{"tolerance": number, "misses": count, "bound": number}]}}

    def __init__(self, cert):
        super().__init__(cert)
        self.least = self.most = 0  # rows beyond each tolerance

    @classmethod
    def stated(cls, cert, found):
        g = guarantee(cert, "curve")
        found["curve"], found["unproven curve"] = stated_sum(g["empirical_risk"], cert["ledger"]["holdout"]), g["unproven"]
        need(found["curve"] % UNIT == 0 and g["unproven"] == 0, "a curve counts rows that are lost, and none that are unproven")
        found["curve of errors"] = {"steps": numbered(g["curve"]["steps"]), "epsilon": g["loss"]["epsilon"], "empty": g["curve"]["level"] == 0}
        need(g["loss"]["kind"] == "zero-one" and 2.0 ** -900 <= g["loss"]["epsilon"] <= 2.0 ** 900, "a curve takes a tolerance")

    @staticmethod
    def check(cert, model, found, inverse):
        g, n = guarantee(cert, "curve"), cert["ledger"]["holdout"]
        level, steps, own = g["curve"]["level"], numbered(g["curve"]["steps"]), float(g["loss"]["epsilon"])
        close(g["ln_inverse_delta"], inverse, "ln 1/delta of the curve")
        if unpriced(cert):
            return need(level == 0 and steps == [] and g["bound"] == 1, "the curve of a look that cannot be paid for is not empty")
        check_level(n, level, inverse)
        need(level > 0 or steps == [], "a curve without a level has steps")
        grid, at, last = tolerances(own).tolist(), -1, n
        k, p = (ranks(n), limits(n, level)) if steps else ([], [])
        for s in steps:
            here = grid.index(s["tolerance"]) if s["tolerance"] in grid else -1
            need(here > at and s["misses"] < last and s["misses"] <= n // 2, "the steps of the curve are not at its tolerances, or its counts do not fall")
            at, last, limit = here, s["misses"], p[np.searchsorted(k, s["misses"])]
            need(abs(s["bound"] / limit - 1) <= LOOSE, f"the curve states {s['bound']} for {s['misses']} of {n} rows, which is not the limit {limit}")
        here = [s for s in steps if s["tolerance"] <= own]
        need(g["bound"] == (here[-1]["bound"] if here else 1), "the bound of the curve is not that at the tolerance")
        need(not here or here[-1]["misses"] * UNIT == found["curve"], "the curve and the empirical risk count other rows")

    @classmethod
    def derive(cls, cert, found, loss, delta):
        stated = guarantee(cert, "curve")
        curve = {"level": float(stated["curve"]["level"]), "steps": numbered(stated["curve"]["steps"])}
        return [{**cls.about(found, loss, delta), "ln_inverse_delta": float(stated["ln_inverse_delta"]), "bound": float(stated["bound"]), "curve": curve}]

    def add(self, losses, y, law, rows):
        """Counts the rows beyond each tolerance: those that have to be, and those that may be."""
        mean, error, tau = law[0], law[2], losses.tau
        room = (error + 6 * U * (np.abs(mean) + np.abs(y))) * (1 + 2.0 ** -30)
        off, grid = np.abs(mean - y), tolerances(losses.model.loss["epsilon"])
        least, most = np.where(error <= tau, off - room + tau, np.inf), np.where(error <= tau / 2, off + room + 3 * tau, np.inf)
        self.least = self.least + ((least * losses.scale * (1 - 2.0 ** -30))[:, None] > grid).sum(axis=0)
        self.most = self.most + ((most * losses.scale * (1 + 2.0 ** -30))[:, None] > grid).sum(axis=0)

    def agrees(self, found):
        n, own = found["ledger"]["holdout"], found["curve of errors"]
        stated = np.array([next((s["misses"] for s in reversed(own["steps"]) if s["tolerance"] <= t), n) for t in tolerances(own["epsilon"])])
        lost = found["curve"] // UNIT
        need(self.least[OWN] <= lost <= self.most[OWN], "the rows lost at the tolerance of the curve are others")
        need(np.all(self.least <= stated), "fewer rows are beyond a tolerance of the curve than have to be")
        need(np.all((stated <= self.most) | (stated == n) & ((self.most > n // 2) | own["empty"])), "more rows are beyond a tolerance of the curve than can be")


def counted(each):
    """Groups with float64 numbers, which JSON may write as integers."""
    return [{"n": g["n"], "misses": g["misses"], "bound": float(g["bound"])} for g in each]


class Groups(Losses):
    id, role, predictor = "groups", "holdout", "predictor"
    names = ("groups",)
    members = {"groups": {"column": lambda v: isinstance(v, str), "beside?": lambda v: v is True, "values": [number], "texts?": [lambda v: isinstance(v, str)], "each": [{"n": count, "misses": count, "bound": number}]}}

    def __init__(self, cert):
        super().__init__(cert)
        of = guarantee(cert, "groups")["groups"]
        self.column, self.values = cert["sample"]["columns"].index(of["column"]), np.array(of["values"], dtype=float)
        self.n, self.lost, self.narrowly = np.zeros((3, len(self.values) + 1), dtype=np.int64)

    @classmethod
    def stated(cls, cert, found):
        g = guarantee(cert, "groups")
        found["groups"], found["unproven groups"] = stated_sum(g["empirical_risk"], cert["ledger"]["holdout"]), g["unproven"]
        each, values = g["groups"]["each"], [float(v) for v in g["groups"]["values"]]
        need(g["unproven"] == 0 and KINDS[g["loss"]["kind"]].counts, "groups count rows that are lost, and none that are unproven")
        need(right_values(values) and len(each) == len(values) + 1 and g["groups"]["column"] in cert["sample"]["columns"][:-1], "the groups are not those of values of a column")
        need(all(e["misses"] <= e["n"] for e in each) and sum(e["n"] for e in each) == cert["ledger"]["holdout"] and sum(e["misses"] for e in each) * UNIT == found["groups"], "the groups do not add up to the hold-out rows")
        found["group values"], found["each group"] = values, counted(each)

    @staticmethod
    def check(cert, model, found, inverse):
        g, each = guarantee(cert, "groups"), found["each group"]
        inverse += Decimal(len(each)).ln()
        close(g["ln_inverse_delta"], inverse, "ln 1/delta of a group")
        for e in each:
            need(e["n"] <= SUMMABLE, f"{e['n']} hold-out rows are more than this program can check")
            if e["n"] < LEAST or unpriced(cert):
                need(e["bound"] == 1, "a group of too few rows, or of a look that cannot be paid for, has a bound below 1")
            else:
                check_limit(e["misses"], e["n"], Decimal(e["bound"]), inverse)
        need(g["bound"] == max(e["bound"] for e in each), "the bound is not the largest of the groups")

    @classmethod
    def derive(cls, cert, found, loss, delta):
        stated = guarantee(cert, "groups")
        return [{**cls.about(found, loss, delta), "ln_inverse_delta": float(stated["ln_inverse_delta"]), "bound": float(stated["bound"]), "groups": {**found["grouping"], "each": found["each group"]}}]

    def add(self, losses, y, law, rows):
        at, last = np.searchsorted(self.values, rows[self.column]), len(self.values)
        at[self.values[np.minimum(at, last - 1)] != rows[self.column]] = last
        high, proven = losses.points(y, law[0], law[2])
        for sums, which in ((self.n, at == at), (self.lost, high > 0), (self.narrowly, proven & (law[2] > losses.tau / 2))):
            sums += np.bincount(at[which], minlength=last + 1)

    def agrees(self, found):
        """Each group has its rows; as many are lost as have to be, and at most one more for rounding and those that are proven here alone."""
        for e, n, lost, narrowly in zip(found["each group"], self.n.tolist(), self.lost.tolist(), self.narrowly.tolist()):
            need(e["n"] == n, f"a group has {n} hold-out rows, the certificate says {e['n']}")
            need(lost <= e["misses"] <= lost + narrowly + 1, f"of a group {lost} hold-out rows are lost, the certificate says {e['misses']}")


METHODS = {m.id: m for m in (PacBayes, Holdout, Curve, Groups)}
NAMES = [name for m in METHODS.values() for name in m.names]


def applied(cert):
    """The methods of a certificate, in the order of all."""
    return [m for m in METHODS.values() if m.id in cert["delta"]["methods"]]


def judged(cert):
    """Whether hold-out rows judge the predictor. Without them it is the mean of Q."""
    return any(m.role == "holdout" for m in applied(cert))


def shows_bound_alone(cert, g):
    """Whether a guarantee states no sum of losses: its bound depends on more than their sum."""
    return g["id"] == "holdout" and ("units" in cert["ledger"] or not KINDS[g["loss"]["kind"]].counts)


def stated_sum(risk, rows):
    """The sum of the losses of so many rows."""
    need(risk["exact"]["count"] == rows, f"a risk is over {risk['exact']['count']} rows, not over {rows}")
    total = int(risk["exact"]["sum"], 16)
    need(total <= rows * UNIT, "a risk is above 1")
    return total


def unpriced(cert):
    """Whether no part of delta pays for the look (format.md, 6.6)."""
    return "ended" in cert["delta"].get("looks", {})


def looked(cert):
    """By how much looks divide the part of a hold-out (format.md, 6.6)."""
    earlier = cert["delta"].get("looks", {}).get("earlier", [])
    j = len(earlier) + 1
    return Decimal(math.prod(n + 1 for n in earlier) * 10 * j * (j + 1)) if earlier else Decimal(20) / 19


def check_bounds(cert, model, found):
    """The numbers of the bounds, each from those before it (format.md, 6.4)."""
    delta = cert["delta"]
    need(0 < delta["declared"] < 1, "the share of delta is out of range")
    declared = Decimal(repr(float(delta["declared"])))
    weights = {"train": 1, "holdout": 9}  # by the rows of a method
    shared = sum(weights[m.role] for m in applied(cert))
    if "sequence" in delta:
        number = delta["sequence"]["number"]
        shared *= number * (number + 1)
    for m in applied(cert):
        m.check(cert, model, found, (shared * (looked(cert) if m.role == "holdout" else 1) / Decimal(weights[m.role]) / declared).ln())
    n = unit.examples(found["ledger"], "train")
    yardstick = Decimal(mean_of(found["baseline"], n, False))
    close(cert["baseline"]["bound"], kl_inverse(yardstick, -declared.ln() / n), "the bound of the constant")
