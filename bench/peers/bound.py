"""The job, the loss and the inverse relative entropy.

A job's rows are scaled by its prior rows, so that ε = 0.6 of their standard deviations is 0.6 here. θ is on a flat
grid of 1,201 values of each logarithm.
"""
import math

import torch

EPSILON, DELTA = 0.6, 0.01
GRID_COUNT = 1201
LEAST_VARIANCE = 1e-14
JITTER = 1e-6  # relative to the kernel's variance


def expected_loss(y, mean, variance):
    """E of 1 where |v−y| ≥ ε, for v ~ N(mean, variance)."""
    s = variance.clamp(min=LEAST_VARIANCE).sqrt()
    return (torch.special.ndtr((y - EPSILON - mean) / s) + torch.special.ndtr((mean - y - EPSILON) / s)).clamp(max=1)


def binary_kl(q, p):
    return (q * math.log(q / p) if q > 0 else 0.0) + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0)


def kl_inverse(q, c):
    """sup {p : kl(q‖p) ≤ c}"""
    low, high = min(1.0, q), 1.0
    if not low < 1 or c > 30:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if binary_kl(q, middle) > c:
            high = middle
        else:
            low = middle
    return high


class KLInverse(torch.autograd.Function):
    """p = sup {p : kl(q‖p) ≤ c}, with dp/dc = p(1−p)/(p−q) and dp/dq = (logit p − logit q) dp/dc."""

    @staticmethod
    def forward(ctx, q, c):
        p = kl_inverse(q.item(), c.item())
        ctx.q, ctx.p = max(1e-12, q.item()), p
        return q.new_tensor(p)

    @staticmethod
    def backward(ctx, grad):
        q, p = ctx.q, ctx.p
        by_c = p * (1 - p) / (p - q)
        return grad * by_c * (math.log(p / (1 - p)) - math.log(q / (1 - q))), grad * by_c
