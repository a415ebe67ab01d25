"""Fits, certifies and predicts from Python: docs/howto/python.md. Its picture is out/run.png."""
import numpy as np

import pacsgp

EPSILON = 0.35
rng = np.random.default_rng(1)


def rows(n):
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + rng.normal(0, 0.1, n)


regressor = pacsgp.PACSGPRegressor(epsilon=EPSILON, delta=0.01, output="out", job={"inducing": 40})
regressor.fit(*rows(2000))
print(f"{regressor.claim_['status']}: off by more than {EPSILON} in at most {np.ceil(1000 * regressor.bound_) / 10} % of new rows")

X, y = rows(10_000)  # of the same source
mean = regressor.predict(X)
print(f"off by more than {EPSILON}: {np.mean(np.abs(mean - y) > EPSILON):.2%} of {len(y)} fresh rows")

model = pacsgp.Model("out")  # as a reader uses it: this needs only numpy and pyarrow
again, deviation = model.predict(X[:3], return_std=True)
print("the same model from its files:", np.allclose(again, mean[:3], rtol=1e-12, atol=1e-12), deviation.round(3))
