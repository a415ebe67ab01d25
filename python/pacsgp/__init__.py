"""Predict from a model file, and verify its certificate, without the Go program.

A second implementation of docs/format.md on pyarrow, numpy and scipy. It shares no code
with the Go program, so that one need not trust either.
"""
from decimal import MAX_EMAX, MIN_EMIN, getcontext

getcontext().prec, getcontext().Emax, getcontext().Emin = 60, MAX_EMAX, MIN_EMIN
