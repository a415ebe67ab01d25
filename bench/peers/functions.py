"""exp and the normal distribution function of PyTorch, on one core, in pieces that stay in cache.

A case is {"function"}; the answer {"value"}: nanoseconds a value, with the size of pieces that PyTorch likes best.
"""
import torch

from serve import seconds, serve

TOTAL = 1 << 20


def answer(case):
    function = {"exp": torch.exp, "cdf": torch.special.ndtr}[case["function"]]
    took = {}
    for piece in (1 << 12, 1 << 13, 1 << 14, 1 << 15):
        x = 3 * torch.randn(piece, dtype=torch.float64)
        y = torch.empty_like(x)

        def run():
            for _ in range(TOTAL // piece):
                function(x, out=y)
        took[piece] = seconds(run, 0.05)
    best = min(took, key=took.get)
    return {"value": took[best] / TOTAL * 1e9, "layout": f"pieces of {best}"}


torch.set_num_threads(1)
serve(answer)
