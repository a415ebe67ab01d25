package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// The regressor passes the checks of scikit-learn, without an exception.
func TestPythonRegressorIsChecked(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred small fits take half a minute")
	}
	if there, err := has("sklearn"); !there || err != nil {
		fatal.Missing(t, "PACSGP_PYTHON names no interpreter with scikit-learn: %v", err)
	}
	program := filepath.Join(t.TempDir(), "pacsgp") // is this command with the arguments train FILE
	fatal.If(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\n%s='{\"Args\":[\"'$1'\",\"'$2'\"]}' exec '%s'\n", childVariable, os.Args[0]), 0o700))
	t.Setenv("PACSGP_BINARY", program)
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
