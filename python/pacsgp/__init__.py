"""Certified Gaussian processes without the Go program: predictions, and the independent verifier.

A second implementation of docs/reference/formats.md on pyarrow and numpy, and SciPy where a certificate has a
curve. It shares no code with the Go program, so that one need not trust either. docs/howto/python.md shows its use.
"""
from .published import Model

__all__ = ["Model", "NotCertified", "PACSGPRegressor"]
__dir__ = lambda: __all__


def __getattr__(name):
    """Loads the module of the names that need scikit-learn at their first use."""
    if name in __all__:
        from . import regressor
        return getattr(regressor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
