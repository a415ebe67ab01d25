package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// needScikitLearn skips a test without it. An interpreter of the developer's own may lack it; that of
// CI may not.
func needScikitLearn(t *testing.T) {
	t.Helper()
	if out, status := verifytest.Python(t, "-c", "import sklearn"); status != 0 && os.Getenv("CI") != "true" {
		t.Skip("the interpreter that PACSGP_PYTHON names lacks a package of python/requirements.txt: " + out)
	}
}

// programForPython makes a program that is this command with the arguments train FILE, for Python.
func programForPython(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pacsgp")
	script := fmt.Sprintf("#!/bin/sh\n%s='{\"Args\":[\"'$1'\",\"'$2'\"]}' exec '%s'\n", childVariable, os.Args[0])
	fatal.If(t, os.WriteFile(path, []byte(script), 0o700))
	t.Setenv("PACSGP_BINARY", path)
}

// The regressor passes the checks of scikit-learn, without an exception.
func TestPythonRegressorIsChecked(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred small fits take half a minute")
	}
	needScikitLearn(t)
	programForPython(t)
	out := verifytest.Script(t, `
import warnings, pacsgp
from sklearn.utils.estimator_checks import check_estimator
warnings.simplefilter("ignore")
results = check_estimator(pacsgp.PACSGPRegressor(epsilon=1.0, job={"inducing": 10, "train": {"passes": 3}}), on_fail=None, on_skip=None)
for r in results:
    if r["status"] == "failed":
        print(r["check_name"], repr(r["exception"]))
print(sum(r["status"] == "passed" for r in results) >= 45)
`)
	if out != "True" {
		t.Errorf("check_estimator:\n%s", out)
	}
}

// What the program says of a failed fit, of one that promises nothing and of one with warnings
// reaches the caller.
func TestPythonRegressorSaysWhy(t *testing.T) {
	needScikitLearn(t)
	programForPython(t)
	out := verifytest.Script(t, `
import sys, warnings, numpy as np, pacsgp
warnings.simplefilter("error")
rng = np.random.default_rng(1)
X = rng.normal(size=(400, 1))
y = np.sin(X[:, 0]) + rng.normal(0, .1, 400)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    fitted = pacsgp.PACSGPRegressor(epsilon=0.5, job={"inducing": 10}).fit(X, y)
    low, high = fitted.interval(X, 0.8)
print("intervals cover", np.mean((low <= y) & (y <= high)) > 0.8, fitted.bound_ < 0.2, fitted.certificate_["format"])
quick = pacsgp.PACSGPRegressor(epsilon=0.1, job={"inducing": 10, "train": {"passes": 3}})
quick.job["duplicates"] = {"limit": 0.01}
for rows in (slice(0, 400), slice(100, 400), [*range(300), *range(100)]):
    try:
        print("promised", quick.fit(X[rows], y[rows]).bound_ < 1)
    except Exception as err:
        print(type(err).__name__, err)
try:
    pacsgp.PACSGPRegressor(job=quick.job).fit(X, y)
except ValueError as err:
    print("without epsilon", err)
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    anything = pacsgp.PACSGPRegressor(job={"inducing": 10, "loss": {"tolerance": "any"}}).fit(X, y)
print("at every tolerance", "curve" in anything.certificate_["delta"]["methods"])
numbered = pacsgp.PACSGPRegressor(epsilon=0.1, job=quick.job)
try:
    numbered.fit(np.hstack([X, np.arange(400.0)[:, None]]), y)
except UserWarning as w:
    print(type(w).__name__, w)
`)
	for _, want := range []string{"intervals cover True True pacsgp-certificate/", `UserWarning column "x1" is left out: it seems to be an identifier`, "ValueError pacsgp train: ", "unusable rows", "hint: duplicates: drop", "without epsilon epsilon: say by", "at every tolerance True"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The example fits, keeps its promise on fresh rows, and reads the same model back.
func TestPythonExample(t *testing.T) {
	needScikitLearn(t)
	programForPython(t)
	in := "import os, runpy, sys; os.chdir(sys.argv[1]); runpy.run_path(sys.argv[2])"
	out, status := verifytest.Python(t, "-c", in, t.TempDir(), filepath.Join(verifytest.Root(t), "examples", "python", "fit.py"))
	for _, want := range []string{"certified: off by more than", "of new rows", "the same model from its files: True"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Fatalf("status %d, want %q in\n%s", status, want, out)
		}
	}
}

// A model in memory predicts as the command does, for arrays, tables and rows with text and gaps, and
// needs neither SciPy nor scikit-learn. What does not belong together is refused.
func TestPythonModel(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	rows := `
import os, sys, unittest.mock, warnings, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng = np.random.default_rng(1)
n = 600
a, carrier = rng.uniform(-3, 3, n), np.array(["AA", "WN", "ZZ"])[rng.integers(0, 3, n)]
gaps = np.where(rng.uniform(size=n) < .1, np.nan, rng.uniform(-1, 1, n))
table = pa.table({"a": a, "carrier": carrier, "gap": pa.array(gaps, from_pandas=True), "y": np.sin(a) + (carrier == "AA") + rng.normal(0, .1, n)})
`
	fatal.If(t, os.Mkdir(in("lake"), 0o755))
	verifytest.Script(t, rows+`pq.write_table(table, sys.argv[1])`, in("lake/rows.parquet"))
	writeFile(t, in("encoded.yaml"), []byte(`{source: lake, target: y, loss: {epsilon: 0.7}, delta: 0.05, inducing: 12, train: {passes: 2}, output: encoded, require: draw, encode: {carrier: one-hot}, fill: {gap: [median, flag]}}`))
	writeFile(t, in("plain.yaml"), []byte(`{source: lake, target: y, features: [a], loss: {epsilon: 1.5}, delta: 0.05, inducing: 12, train: {passes: 2}, output: plain, require: draw}`))
	for _, name := range []string{"encoded", "plain"} {
		succeed(t, "train", in(name+".yaml"))
		succeed(t, "predict", in(name), in("lake"), "-o", in(name+".parquet"))
	}
	out := verifytest.Script(t, rows+`
import pacsgp
os.chdir(sys.argv[1])
def same(of, name):
    want = pq.read_table(name + ".parquet")
    for got, column in zip(of, ("mean", "predictive_deviation")):
        np.testing.assert_allclose(got, want[column].to_numpy(), rtol=0, atol=1e-9)
encoded, plain = pacsgp.Model("encoded"), pacsgp.Model("plain")
same(encoded.predict(table, return_std=True), "encoded")
same(plain.predict(a[:, None], return_std=True), "plain")
same([plain.predict(table)], "plain")
print(repr(plain), dir(pacsgp))
print(encoded.features, plain.predict(np.array([[np.nan], [1e31]])), plain.predict(np.zeros((0, 1))), encoded.certificate["format"], len(encoded.id))
def refused(call):
    try:
        print("accepted", call())
    except Exception as err:
        print(type(err).__name__, err)
certificate = [name for name in os.listdir("encoded") if name.startswith("certificate") and name.endswith("json")][0]
model = [name for name in os.listdir("plain") if name.startswith("model")][0]
refused(lambda: pacsgp.Model("plain/" + model, "encoded/" + certificate))
refused(lambda: pacsgp.Model("lake"))
for damaged in (b"", b"[1]", b"{}", b"\xff\xfe"):
    os.makedirs("damaged", exist_ok=True)
    with open("damaged/current.json", "wb") as f:
        f.write(damaged)
    refused(lambda: pacsgp.Model("damaged"))
refused(lambda: plain.predict(np.zeros((2, 3))))
refused(lambda: plain.interval(table, "much"))
refused(lambda: pacsgp.Model("lake/rows.parquet"))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    low, high = plain.interval(table, "99%")
    print([str(w.message) for w in said if "99 %" in str(w.message)], np.allclose(high - low, 5.15166 * plain.predict(table, return_std=True)[1]))
low, high = plain.interval(table, 0.5)
print(np.allclose(high - low, 3), "within", np.mean((low <= table["y"]) & (table["y"] <= high)) > 0.9)
sys.modules["matplotlib"] = None
refused(lambda: plain.plot(table, table["y"]))
axes = unittest.mock.MagicMock()
print(plain.plot(table, table["y"], 0.5, axes) is axes, axes.errorbar.call_count, axes.set.call_args.kwargs["title"])
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    encoded.predict(pa.table({"a": [1.0, 99.0, None], "carrier": ["AA", "XX", "WN"], "gap": [0.0, None, 1.0]}))
print(*(w.message for w in said), sep="\n")
refused(lambda: plain.predict(table.select(["gap"])))
print([name for name in ("scipy", "sklearn") if name in sys.modules])
`, dir)
	for _, want := range []string{
		"['a', 'carrier', 'gap'] [nan nan] [] pacsgp-certificate/4 64", "the certificate is about another model file", "there is no current.json", strings.Repeat("Refused damaged/current.json is no pointer\n", 4), "have the shape (2, 3), want [n, 1]",
		"the rows lack the columns ['a']", "\n[]", "<pacsgp.Model target='y', loss={'kind': 'zero-one', 'epsilon': 1.5}, bound=0.", "inducing=12> ['Model', 'NotCertified', 'PACSGPRegressor']",
		"intervals are not certified, for no claim in units of the target covers 99 % of new rows", "train with loss: {tolerance: any}'] True", "'much' is no share of new rows: write 0.9 or '90%'", "rows.parquet is no output directory: give one", "True within True", "ImportError plot needs matplotlib", "True 1 intervals that cover 50 % of new rows",
		"1 of 3 rows have no prediction, for they break", "1 of 3 rows are extrapolated", "1 of 3 rows have a value of 'carrier' that the model does not know",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// Of rows without noise, whose rounding errors a narrow tolerance shows, Python takes the certificate, though it
// proves the variances of draws to more digits than are behind the stated risk, or to fewer. It leaves out an
// identifier too.
func TestPythonVerifiesRowsWithoutNoise(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fatal.If(t, os.Mkdir(in("lake"), 0o755))
	verifytest.Script(t, `
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
a, b = np.random.default_rng(1).normal(size=(2, 1500))
days = pa.array(np.array(["0001-01-01", "2026-11-29", "9999-12-31"], "datetime64[us]")[np.arange(1500) % 3])  # of which 64 bits hold one in ns
pq.write_table(pa.table({"a": a, "b": b, "customer_id": np.arange(1500)[::-1], "day": days, "y": np.sin(2 * a) + b}), sys.argv[1], use_deprecated_int96_timestamps=True)
`, in("lake/rows.parquet"))
	for i, job := range []string{"loss: {epsilon: {std: 5e-5}}, inducing: 100", "loss: {epsilon: {std: 1e-3}}, inducing: 60", "loss: {epsilon: {std: 1e-3}}, features: [a, b, day]"} {
		out := in(strconv.Itoa(i))
		writeFile(t, in("job.yaml"), fmt.Appendf(nil, `{source: lake, target: y, %s, delta: 0.05, train: {objective: elbo}, output: %q}`, job, out))
		succeed(t, "train", in("job.yaml"))
		said, status := verifytest.Python(t, "-m", "pacsgp", "verify", only(t, out+"/model-*.parquet"), only(t, out+"/certificate-*.json"), in("lake"))
		if status != 0 || !strings.Contains(said, "\nVERIFIED  Predictions of y are off by more than ") {
			t.Errorf("%s: status %d:\n%s", job, status, said)
		}
	}
}

// The package answers arguments of the wrong kind or order as the program does, with its status.
func TestPythonRefusesArgumentsAsGo(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fatal.If(t, errors.Join(os.Mkdir(in("out"), 0o700), os.WriteFile(in("out/current.json"), []byte("{}"), 0o600), os.WriteFile(in("c.json"), []byte("{}"), 0o600)))
	for _, c := range []struct {
		first, second, says string
		status              int
	}{
		{in("nothere"), dir, in("nothere") + ": no such file or directory", exitFailure},
		{dir, in("out"), in("out") + " is an output directory: name it first, and then the data " + dir, exitUsage},
		{in("c.json"), in("c.json"), "are MODEL and CERTIFICATE swapped?", exitFailure},
	} {
		if said, status := verifytest.Python(t, "-m", "pacsgp", "verify", c.first, c.second); status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s %s: Python ends with %d: %s", c.first, c.second, status, said)
		}
		pacsgp(t, "verify", c.first, c.second).says(t, c.status, c.says)
	}
}
