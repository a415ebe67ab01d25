"""What this package takes of SciPy. It is loaded when it is used: predictions need none of it."""
import importlib


class Borrowed:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, function):
        try:
            return getattr(importlib.import_module(self.name), function)
        except ModuleNotFoundError as err:
            raise ModuleNotFoundError("this needs SciPy: pip install scipy", name=err.name) from err


linalg, special = Borrowed("scipy.linalg"), Borrowed("scipy.special")
