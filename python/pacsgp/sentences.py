"""The sentences of a certificate (format.md, 6.7)."""
from fractions import Fraction

from .bound import decimal_fraction
from .copies import left_out, missed, shared
from .curve import within
from . import unit
from .groups import LEAST, name
from .job import by_rule, members
from .jsontext import at_most_digits, few_digits, plain
from .losses import KINDS
from .methods import SUBJECTS


def decimals(x, places, up=None):
    """A fraction with so many decimals, rounded up or down (None: it is exact)."""
    scaled = x * 10 ** places
    digits = str(-(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator).rjust(places + 1, "0")
    return digits[:len(digits) - places] + ("." + digits[len(digits) - places:] if places else "")


def outward(x, up):
    """A number in [0, 1] rounded outwards: four decimals, and three digits that count."""
    x, places = Fraction(x), 4
    while x > 0 and places < 18 and x * 10 ** places < 100:
        places += 1
    return decimals(x, places, up)


def percent_up(x):
    """A percentage rounded up: one decimal, and two digits that count."""
    x, places = Fraction(x) * 100, 1
    while x > 0 and places < 16 and x * 10 ** places < 10:
        places += 1
    rounded = decimals(x, places, True)
    return "100 %" if Fraction(rounded) >= 100 else rounded + " %"


def at_least_digits(x):
    """A positive number rounded down to three digits that count."""
    y = x
    while float(f"{y:.3g}") > x:
        y /= 1.0005
    return f"{y:.3g}"


def confidence(delta):
    """1 − δ in percent, without rounding."""
    return in_percent(1 - decimal_fraction(delta))


def in_percent(x):
    """A fraction in percent, without rounding."""
    percent, places = x * 100, 0
    while (percent * 10 ** places).denominator != 1 and places < 400:
        places += 1
    return decimals(percent, places) + " %"


def against(baseline, g):
    """The bound that the bound of a guarantee is compared with: 1 of one in deviations, which a constant has not."""
    if "width" in g["loss"]:
        return 1
    return (baseline["missed"] if g["role"] == "holdout" and "missed" in baseline else baseline)["bound"]


def counted(n, thing):
    return f"{n} {thing}{'' if n == 1 else 's'}"


def paid_for(cert):
    """Whether there are earlier looks, and a share of delta pays for them."""
    looks = cert["delta"].get("looks", {})
    return bool(looks.get("earlier")) and not {"swapped", "ended"} & looks.keys()


class Sentences:
    """The sentences of a certificate (format.md, 6.7). cert needs all but them."""

    def __init__(self, cert):
        self.cert, self.unit = cert, cert["declared"].get("unit", "")
        self.units = cert["ledger"].get("units")
        self.example = "unit" if self.units else "row"

    def amount(self, x, digits, loss=()):
        """A number with its unit: that of the target, or deviations or a share of it where the tolerances of the loss are such."""
        if "width" in loss:
            return digits(x) + (" predictive deviation" if digits(x) == "1" else " predictive deviations")
        if "kind" in loss and loss["kind"] == "relative-zero-one":
            return in_percent(decimal_fraction(x)) + " of the target"
        return digits(x) + (f' "{self.unit}"' if self.unit else "")

    def subject(self, g):
        return SUBJECTS[g["predictor"]][1].format(f'"{g["loss"]["target"]}"')

    def words(self, loss, digits):
        """When a loss is 1, of one that counts; of others what an error e costs."""
        return KINDS[loss["kind"]].words(loss, lambda x: self.amount(x, digits, loss))

    def places(self, most=None):
        """Of which partitions the rows are. With more ranges than most, only how many."""
        topics = {}
        for s in self.cert["sample"].get("segments") or []:
            topics.setdefault(s["topic"], set()).add(s["partition"])
        words = []
        for topic, partitions in topics.items():
            ranges = []
            for p in sorted(partitions):
                if ranges and ranges[-1][1] == p - 1:
                    ranges[-1][1] = p
                else:
                    ranges.append([p, p])
            names = "partitions " + ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
            if len(partitions) == 1:
                names = f"partition {ranges[0][0]}"
            elif most is not None and len(ranges) > most:
                names = f"{len(partitions)} partitions"
            words.append(f'{names} of "{topic}"')
        return " and ".join(words)

    def of_role(self, g):
        """Of which fresh rows a guarantee speaks where roles follow from features."""
        return f" whose features have the {'hold-out' if g['role'] == 'holdout' else 'train'} role" if self.cert["roles"].get("by_content") else ""

    def headline(self, g):
        rules = " that satisfy the row rules" if self.cert["ledger"]["bad"] else ""
        fresh = (f"the rows of a fresh {unit.words(self.units)}, on average over its rows" if self.units else f"fresh {self.distinct()}rows") + (" of " + self.places(8) if self.places(8) else "") + " and".join(filter(None, (self.of_role(g), rules)))
        word = any(o["status"] == "conditional" and o["predictor"] == g["predictor"] for o in self.cert["guarantees"])
        nothing = "without its maker's word nothing" if word else "nothing"
        who, loss, sure = self.subject(g), g["loss"], f"{confidence(g['delta'])} confidence" + self.condition(g)
        if g["status"] == "indicative":
            broken = ["the assumption " + a["id"] for a in self.cert["assumptions"] if a["status"] == "broken"]
            if not broken and self.ended(g):
                return f"nothing is certified about {who}: an earlier look at these hold-out rows showed a curve of them"
            if not broken:
                return f"nothing is certified about {who}: the column {self.column()} may have been fitted on the train rows"
            return f"nothing is certified about {who}: {' and '.join(broken)} {'does' if len(broken) == 1 else 'do'} not hold"
        if g["status"] == "vacuous" and not g["bound"] < 1:
            return f"{nothing} is promised about {who}: the bound is 1, which holds for every predictor"
        if g["status"] == "vacuous":
            return f"{nothing} useful is promised about {who}: the bound, {percent_up(g['bound'])}, is not below {self.yardstick(percent_up, g, 'a constant')}"
        kind, words = KINDS[loss["kind"]], self.words(loss, at_most_digits)
        if "groups" in g:
            return f"{who} are {words}, by groups of {self.worst(g['groups'], fresh)}, {sure}"
        if self.misses(g):
            return f"in at most {percent_up(g['bound'])} of fresh {unit.words(self.units, 2)}, {self.part()} of the {who}{rules and ' for rows' + rules} are {words}{self.halves(g)} {sure}"
        if kind.counts:
            return f"{who} are {words} in at most {percent_up(g['bound'])} of {fresh}{self.halves(g)} {sure}"
        if kind.average:
            return f"{who} are {kind.average.format(percent_up(g['bound']), fresh)}, {sure}"
        return f"{who} lose at most {outward(g['bound'], True)} on average over {fresh}, where an error e costs {words}, {sure}"

    def worst(self, groups, fresh):
        """The largest and the least bound of groups."""
        said = [(e["bound"], name(groups, i, plain)) for i, e in enumerate(groups["each"]) if e["bound"] < 1]
        worst, best, silent = max(said, key=lambda s: s[0]), min(said, key=lambda s: s[0]), len(groups["each"]) - len(said)
        words = f'"{groups["column"]}", in at most {percent_up(worst[0])} of {fresh} {worst[1]}'
        words += f" (the worst group) and {percent_up(best[0])} {best[1]} (the best)" if best != worst else ""
        words += f", {counted(len(said), 'group')} at once"
        return words + (f", while nothing is said of {counted(silent, 'group')}" if silent else "")

    def of_groups(self, g, who, words):
        """The bound of each group."""
        groups, lines = g["groups"], {True: [], False: []}
        for i, e in enumerate(groups["each"]):
            lines[e["bound"] < 1].append((f"at most {outward(e['bound'], True)} " if e["bound"] < 1 else "") + f"{name(groups, i, plain)} (misses: {e['misses']} of {counted(e['n'], 'hold-out row')})")
        said = f'given its group by the column "{groups["column"]}", {who} are {words} with a probability of {", ".join(lines[True])}, all at once'
        return said + (f"; nothing is said {', '.join(lines[False])}, for want of {LEAST} rows" if lines[False] else "")

    def halves(self, g):
        """Where half and nine tenths of fresh rows are, as far as a curve tells."""
        known = [(words, within(g["curve"], share)) for share, words in ((0.5, "half of all"), (0.9, "nine of ten"))] if "curve" in g else []
        known = [(words, self.amount(t, at_most_digits, g["loss"])) for words, t in known if t is not None]
        first = f" fresh units {self.rest()}" if self.misses(g) else ""
        known = [f"in {words}{'' if i else first} by more than {t}" if first else f"{words} within {t}" for i, (words, t) in enumerate(known)]
        return f"; {', '.join(known)};" if known else ","

    def ended(self, g):
        return g["role"] == "holdout" and "ended" in self.cert["delta"].get("looks", {})

    def column(self):
        return f'"{self.cert["mean"]["column"]}"'

    def fixed(self):
        """The condition that a guarantee owes to the column of the mean, if there is one."""
        return f"the column {self.column()} is a function of the features that was fixed without these rows" if "mean" in self.cert else ""

    def condition(self, g):
        if g["role"] == "holdout" and self.cert["model"].get("by_rule"):
            return " if split and job owe nothing to the values of the hold-out rows"
        if g["role"] == "holdout":
            return f" if training did not see the hold-out rows, {self.fixed() + ', ' if self.fixed() else ''}and split and job owe nothing to their values"
        return f" if {self.fixed()}" if self.fixed() else ""

    def statement(self, g):
        if g["status"] == "indicative":
            words = "Indicative only: NOTHING IS CERTIFIED, because "
            if any(a["status"] == "broken" for a in self.cert["assumptions"]):
                words += "an assumption of the theorem is broken."
            elif self.ended(g):
                words += "an earlier look at these hold-out rows showed a curve of them. It tells far more than a count, and nobody can pay for what a job may have learnt from it."
            else:
                words += f"the theorem needs a prior that was fixed without the train rows, and the column {self.column()}, which is its mean, may have been fitted on them."
            for a in self.cert["assumptions"]:
                if a["status"] == "broken":
                    words += f" Broken: {a['id']}. The theorem needs: {a['text']} What happened: {a['diagnostic']}"
            return words + f" The formula gives {outward(g['bound'], True)} for {self.subject(g)}, which bounds nothing."
        if g["status"] == "vacuous" and not g["bound"] < 1:
            return f"Vacuous: nothing is promised about {self.subject(g)}. The bound is 1, which holds for every predictor."
        if g["status"] == "vacuous":
            constant = "the constant prediction " + few_digits(self.cert["baseline"]["constant"], False)
            return f"Vacuous: nothing useful is promised about {self.subject(g)}. Its bound, {outward(g['bound'], True)}, is not below {self.yardstick(lambda x: outward(x, True), g, constant)} on the train rows."
        return self.certified(g)

    def yardstick(self, digits, g, constant):
        """What a bound is not below, with its number unless that is printed as the bound's."""
        number = digits(against(self.cert["baseline"], g))
        return (number + ", " if number != digits(g["bound"]) else "") + "what the formula gives for " + constant

    def certified(self, g):
        rows, words = "certified rows (the train rows; reference rows are not counted)".replace("row", self.example), "Under the stated assumptions"
        if g["role"] == "holdout":
            rows, words = f"hold-out {self.example}s" + (", the last ones of the sample" if self.cert["roles"].get("last") else ""), f"If {'the set of the hold-out rows' if self.cert['model'].get('by_rule') else 'training did not see the hold-out rows (holdout-unseen), their set'} was fixed before their values were known (holdout-fixed), and the job owes nothing to their values (one-attempt), under the other stated assumptions"
        if self.fixed():
            words += f", among them that {self.fixed()} (mean-fixed)"
        words += (f", and with confidence of at least {confidence(g['delta'])} over the draw of the N = {g['n']} {rows}, "
                  + (f"for a fresh {unit.words(self.units)} drawn independently from the same source{'' if self.misses(g) else ', on average over its rows that satisfy the row rules'}: " if self.units else
                    f"for a fresh {self.distinct()}row drawn independently from the same source{', ' + self.places() + ',' if self.places() else ''} that satisfies the row rules{' and' if self.of_role(g) else ''}{self.of_role(g)}: ") + self.claim(g))
        if g["predictor"] != "draw of Q":
            words += ". " + ("This is twice the bound of pb-full and holds on the same event. " if g["id"] == "mean-2b" else "")
            words += ("It speaks of predictions that are within "
                      f"{self.amount(self.cert['accuracy']['tau'], at_least_digits)} of the exact mean; a reader that cannot prove this of a row gives no prediction for it")
            if "width" in g["loss"]:
                words += f". It takes the predictive deviation that a reader gives, known to a part in 256; a row without one {'counts as off by more than every tolerance' if self.units else 'has no interval'}"
        else:
            words += (f". The fresh {'unit, one of its rows' if self.units else 'row'} and the function are drawn together, once; the number is an average over both and speaks of no single row, "
                      "nor of the mean of Q")
        if len(self.cert["delta"]["methods"]) > 1:
            words += ". It holds together with the other guarantees of this certificate"
        k = self.cert["delta"]["alternatives"]
        if k > 1:
            words += (f". It holds together with the guarantees of the other {k - 1} of {k} alternatives that the job declared, "
                      "so that the best of them may be chosen")
        return words + (self.looks() if g["role"] == "holdout" else "") + self.copies() + self.sequence(g["role"] == "holdout") + "."

    def distinct(self):
        return "distinct " if left_out(self.cert["copies"]) else ""

    def copies(self):
        """About copies that were left out."""
        if "as_they_come" not in self.cert["copies"]:
            return ""
        return f". It is about distinct rows: {shared(self.cert['copies'])} and were left out; {missed(self.cert, percent_up, lambda x: outward(x, True))}"

    def looks(self):
        j = len(self.cert["delta"].get("looks", {}).get("earlier", [])) + 1
        return "" if j == 1 else f". It is look {j} at these rows: its part of delta is divided by 10*{j}*{j + 1}, and by the number of answers of each look before"

    def sequence(self, held_out):
        s = self.cert["delta"].get("sequence")
        if not s:
            return ""
        k = s["number"]
        if s["policy"] == "each":
            return f". It is number {k} of a sequence of certificates each of which holds by itself: nothing is said of several at once, nor of one that was chosen among them"
        if "horizon" in s:
            return f". It is number {k} of a sequence of certificates that hold all at once, at most {s['horizon']}: it has spent delta/{s['horizon']}"
        if k == 1:
            return ". It is the first of a sequence of certificates that hold all at once: it has spent a half of delta"
        paid = held_out and paid_for(self.cert)
        changed = f"; it has this job from number {s['amended']} on, which is assumed to owe nothing to these rows{' beside looks that are paid for' if paid else ''} (one-attempt)" if "amended" in s else ""
        return f". It is number {k} of a sequence of certificates that hold all at once: it has spent delta/({k}*{k + 1}){changed}"

    def misses(self, g):
        """Whether a guarantee is about units that miss by a share of their rows."""
        return g["role"] == "holdout" and "misses" in (self.units or {})

    def part(self):
        """Of which part of its rows more is missed if a unit misses."""
        share = decimal_fraction(self.units["misses"])
        return f"more than {in_percent(share)}" if share else "some"

    def rest(self):
        """Of which part of its rows more is not missed if a unit does not miss."""
        share = decimal_fraction(self.units["misses"])
        return f"at most {in_percent(share)}" if share else "none"

    def claim(self, g):
        most, words = "at most " + outward(g["bound"], True), self.words(g["loss"], plain)
        missing = self.misses(g) and f"{self.part()} of the {self.subject(g)} for its rows that satisfy the row rules"
        if "groups" in g:
            return self.of_groups(g, self.subject(g), words)
        if "curve" in g:
            known = [(percent, within(g["curve"], percent / 100)) for percent in (50, 90, 95, 99)]
            amounts = [(percent, self.amount(t, plain, g["loss"])) for percent, t in known if t is not None]
            each = ", in predictive deviations of each row" if "width" in g["loss"] else ""
            who, whose, of, known = self.subject(g), "", " of fresh rows", [f", mean - {t} to mean + {t} covers at least {percent} %" for percent, t in amounts]
            if self.misses(g):
                who, whose, of = missing, f"{self.part()} of them are ", ""
                known = [f", at least {percent} % of fresh {unit.words(self.units, 2)} have {self.rest()} of their rows that satisfy the row rules off by more than {t}" for percent, t in amounts]
            return (f"for every tolerance at once{each}, {who} are off by more than it with probability at most the bound of the last step of the curve whose tolerance is not above it; "
                    f"{whose}{words} with probability {most}" + (f". Read sideways{''.join(known)}{of}, all at once" if known else ""))
        if self.misses(g):
            return f"with probability {most}, {missing} are {words}"
        if KINDS[g["loss"]["kind"]].counts:
            return f"{self.subject(g)} are {words} with probability {most}"
        return f"{self.subject(g)} have an expected loss of {most}, where an error e (prediction less target) costs {words}"

    def baseline(self):
        b, n = self.cert["baseline"], unit.examples(self.cert["ledger"], "train")
        rows = "the reference rows" if b["origin"] == "reference" else "the first rows by rank"
        return (f"A yardstick: of constant predictions, {few_digits(b['constant'], False)} is the best of 512 on {rows}. It loses at least {outward(b['empirical_risk']['lower'], False)} "
                f"on the N = {n} certified {self.example}s, for which the formula gives {outward(b['bound'], True)}. "
                "A guarantee whose bound is not below this is called vacuous; about fresh rows the number says nothing."
                + (f" For guarantees from hold-out units it is {outward(b['missed']['bound'], True)}: the constant misses {self.part()} of the rows of at least {b['missed']['units']} of these units." if "missed" in b else ""))


ASSUMPTIONS = {
    "independent-rows": "The certified rows and the fresh row are independent draws from one distribution. No program can establish this from the rows.",
    "prior-before-rows": "The prior (kernel family, choice of features, scaling, grid and weights of the hyper-parameters) follows from declarations, from names and types of columns, and from reference rows: this is enforced. That nobody looked at the certified rows before declaring it is not; one-attempt assumes it.",
    "loss-before-rows": "The loss, its tolerance and delta follow from declarations and reference rows: this is enforced. That nobody looked at the certified rows before declaring them is not; one-attempt assumes it.",
    "roles-by-key": "Each row has one role, which follows from its ordinal (with roles.by content from its values) and from declarations; bad rows and copies are left out by their values. Only scaling of the mode all-rows uses rows beside their role.",
    "separate-last-pass": "The empirical risk was computed in a separate pass over exactly the rows of the sample, with the model as read back from its file; the digests of both readings agree.",
    "losses-proven": "Each certified row has a proven upper bound on its loss (on train rows the expected loss of a draw, on hold-out rows the loss of the mean), for the stored numbers in exact arithmetic; a row without one counts as a loss of 1. Tolerances leave room for predictions that are off by the stated accuracy.",
    "jitter": "With the stored factor L, L L' - K_ZZ is positive semi-definite, so that the KL of the stored numbers is the KL of the theorem.",
    "grid-weights": "The kernel is of a declared family, and the hyper-parameters are values of the declared grids; the weights of all choices together add up to at most 1.",
    "one-attempt": "The job (files, features, kernel, grid, declared constants, loss, tolerance, delta, key, methods, share of hold-out rows) was declared without a look at the certified rows, and not chosen among several after their results were seen. Where there are hold-out rows, neither were the seed and the settings of training, nor the time at which it ended.",
    "holdout-unseen": "Training did not see the hold-out rows. A model does not tell what it was trained on: who doubts it trains again, without these rows, and compares the bytes.",
    "holdout-fixed": "Which rows are hold-out rows (by key, share, selection and order of the rows) was fixed before their values were known. No file tells: who doubts it audits, under a key of his own.",
    "mean-fixed": "The prior's mean function, a column of the rows, is a function of the features that was fixed without the rows that certify. Predictions of a model that was fitted on them are none, nor are out-of-fold predictions, each of which has seen the others. No column tells how it was made."}

OF_UNITS = {
    "independent-units": "The certified units and the fresh unit, each with all its rows, are independent draws from one distribution, whatever labels or numbers tell them apart. Rows of one unit may depend on each other. No program can establish this from the rows.",
    **{name: words for name, words in ASSUMPTIONS.items() if name != "independent-rows"},
    "roles-by-key": "Each row has the role of its unit, which follows from the unit's label or number and from declarations; bad rows are left out by their values. Only scaling of the mode all-rows uses rows beside their role."}

EQUAL_ROWS = {
    "drop": "The first of equal rows is used and the later ones are left out: it is assumed that those are copies, made after the rows were drawn.",
    "independent": "That equal rows are separate draws is declared by the user.",
    "limited": "Equal rows are taken for separate draws."}


def assumptions(job, found, jitter):
    """The assumptions with status and diagnostic (format.md, 6.5)."""
    mode, dependence = job["scaling"]["mode"], found["dependence"]
    rows = f"The correlation of the targets of consecutive rows is {dependence['correlation']:.3f} over {dependence['pairs']} {'pair' if dependence['pairs'] == 1 else 'pairs'}."
    units = "units" in found["ledger"]
    if units:
        rows += " Whether units are alike was not measured."
    elif dependence["suspicious"]:
        rows += f" Independent rows in order of arrival would hardly show {'what was measured of near rows' if 'measured' in dependence else 'this'}: unless the rows were sorted, they depend on each other, and the bound may be too low."
    copies = found["copies"]
    bad, every = found["ledger"]["bad"], found["ledger"]["rows"]
    rows += (f" Of {copies['rows'] + copies['distinct']} rows, {copies['rows']} equal an earlier row in every used column, and {copies['features']} in the features alone. "
             + EQUAL_ROWS[copies["policy"]])
    if "bad_rows" in job:
        rows += f" {bad} of {every} rows break a row rule and are left out: of these nothing is promised."
    said = {
        "independent-rows": ("assumed", rows),
        "independent-units": ("assumed", rows),
        "one-attempt": ("assumed", "No program can see what was tried elsewhere. What the maker counted stands under declared."),
        "holdout-unseen": ("enforced", "The model follows from reference and train rows by a rule; who has the rows makes it again, as verify does.") if by_rule(job)
        else ("assumed", "What training again takes stands under declared and in the configuration."),
        "holdout-fixed": ("assumed", "Training again does not show it."),
        "mean-fixed": ("assumed", "The column is declared to be fitted on no hold-out row. It may have been fitted on train rows, so that they certify nothing.")}
    if outside := found["ledger"].get("outside", 0):
        said["mean-fixed"] = ("assumed", f"The column is declared to be fitted on outside rows alone, {outside} of {every} {'row' if every == 1 else 'rows'}, which are used for nothing here.")
    if mode == "declared":
        said["prior-before-rows"] = ("assumed", "The scaling constants were declared. That they were not computed from the certified rows cannot be seen.")
    if mode == "all-rows":
        said["prior-before-rows"] = ("broken", "scaling.mode is all-rows: features and target were scaled with the mean and deviation of all rows, the certified ones included.")
        if "epsilon_std" in job["loss"]:
            said["loss-before-rows"] = ("broken", "The tolerance was given in standard deviations of the target over all rows, the certified ones included.")
    if not jitter["holds"]:
        said["jitter"] = ("broken", f"The error of the factor is not proven to be at most {plain(jitter['limit'])}.")
    return [{"id": name, "status": said.get(name, ("enforced",))[0], "text": words, **members(("diagnostic", said.get(name, ("", ""))[1]))}
            for name, words in (OF_UNITS if units else ASSUMPTIONS).items()
            if (found["ledger"]["holdout"] if name.startswith("holdout-") else found["mean"] if name == "mean-fixed" else True)]
