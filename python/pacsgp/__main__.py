"""Predict from a model file, and verify its certificate, without pacsgp.

A second implementation of docs/format.md on pyarrow, numpy and scipy. It shares
no code with the Go program, so that one need not trust either.

    python -m pacsgp MODEL --certificate CERT [--id ID] [DATA ...]
    python -m pacsgp MODEL --predict OUT [--certificate CERT] DATA ...

MODEL is a model file, CERT the certificate's JSON document or its row of Parquet,
DATA the files or directories of the lake in the order of the job. The whole document is derived
again from model, configuration and rows, sentences included, and compared to the
letter. Three kinds of numbers are held to bounds instead, because two programs
round differently: the sums of losses, KL, and what follows from them. Without
DATA the findings about the rows (roles, scaling, losses) are believed as stated.

What is declared is the maker's word and printed apart. Lines with NOT CHECKED say
what is not checked, such as that training did not see the hold-out rows and that
nobody chose them by their values: no file tells, and this program does not train. Exit status: 0
everything checked agrees, 1 something does not, 2 usage, 3 everything checked
agrees, but what is said about the mean rests on the maker's word alone.
"""
import argparse
import os
import sys

import numpy as np
import pyarrow as pa

from .certificate import read_certificate
from .model import Model
from .predict import write_predictions
from .refusal import Refused
from .verify import check_files, check_rows, mean_statuses, show, show_attempts, unchecked


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("data", nargs="*")
    parser.add_argument("--certificate")
    parser.add_argument("--id", help="the certificate's id, from a source that you trust")
    parser.add_argument("--predict", metavar="OUT", help="write predictions for DATA to this file")
    args = parser.parse_intermixed_args()
    if not args.certificate and not args.predict or args.predict and not args.data:
        parser.error("say --certificate CERT, or --predict OUT and DATA")
    for path in filter(None, (args.model, args.certificate, *args.data)):
        if not os.path.exists(path):
            parser.error(f"{path} does not exist")
    try:
        model, certificate, same = Model(args.model), None, True
        rows = args.data and not args.predict
        if args.certificate:
            cert, document, certificate, row = read_certificate(args.certificate, args.id)
            show_attempts(cert)
            job, raw, jitter = check_files(model, cert, document)
            if rows:
                same = check_rows(model, cert, document, job, raw, jitter, args.data)
            show(cert)
            if not {"certified", "conditional"} & mean_statuses(cert):
                certificate = None  # nothing is said about the mean, which is what is predicted
        if args.predict:
            write_predictions(model, args.data, args.predict, certificate)
        if args.certificate:
            unchecked(cert, rows, same, row)
        by_word = args.certificate and "certified" not in mean_statuses(cert) and "conditional" in mean_statuses(cert)
        if rows and by_word:
            print("by the maker's word: the certificate follows from this model and these rows, if the model was trained as it says")
        elif rows and "certified" not in mean_statuses(cert):
            print("nothing is certified about the mean of Q: so says the certificate, which follows from this model and these rows")
        elif rows:
            print("verified: the certificate follows from this model and these rows")
        elif args.certificate:
            print("arithmetic consistent, evidence not rechecked: give DATA to check it")
    except (Refused, OSError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, RecursionError, np.linalg.LinAlgError, pa.ArrowException) as err:
        print(f"REFUSED {type(err).__name__ + ': ' if not isinstance(err, Refused) else ''}{err}")
        return 1
    return 3 if args.certificate and not args.predict and (not rows or "certified" not in mean_statuses(cert)) else 0


if __name__ == "__main__":
    sys.exit(main())
