package sink_test

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Where the independent check cannot tell whether hold-out rows are misses, they are: a
// certificate that states fewer is refused, whatever it says of rows that are not proven.
func TestPythonTakesNoHoldoutSumBelowItsOwn(t *testing.T) {
	verifytest.Need(t)
	out := verifytest.Script(t, `
import numpy as np
from pacsgp import losses, methods, refusal
from itertools import product
for stated, unproven, whole in product((0, 2, 3), (0, 3), (1, losses.UNIT)):
    held = methods.Holdout()
    held.count(np.ones(3), np.array([True, True, False]))
    try:
        held.agrees({"ledger": {"holdout": 3}, "holdout": stated * losses.UNIT, "unproven holdout": unproven, "whole": whole})
        print("accepted", stated)
    except refusal.Refused:
        print("refused", stated)
`)
	if got := strings.Count(out, "refused 0") + strings.Count(out, "refused 2"); got != 8 || strings.Count(out, "accepted 3") != 4 {
		t.Errorf("of 3 misses that cannot be ruled out, 0 and 2 are to be refused and 3 accepted:\n%s", out)
	}
}
