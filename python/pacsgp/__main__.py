"""Verify a certificate without the Go program.

    python -m pacsgp verify DIR|MODEL CERTIFICATE [DATA ...] [--id ID] [--strict] [--json]

DIR is an output directory, MODEL a model file, CERTIFICATE its JSON document (of its row of Parquet the document is read), DATA files or
directories of the lake in the order of the job. Everything is derived again from model, job and rows, and compared. Only sums of losses,
the predictor and limits of a curve are held to bounds, because two programs round differently. Without DATA the facts about the rows are taken as stated.

Exit status: 0 what was checked agrees, and predictions are certified, 1 something does not agree or is not there, 2 usage,
3 it agrees, but they are not certified, or with --strict something that could be checked was not.
"""
import argparse
import contextlib
import io
import json
import os
import sys

from .published import current
from .refusal import Refused, here, plain
from .verify import verify


def arguments(call):
    about, usage, rules, statuses = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(prog="python -m pacsgp", description=about)
    check = parser.add_subparsers(dest="command", required=True).add_parser("verify", usage=usage.strip(), description=rules, epilog=statuses, help="check a certificate against its model and, if given, its rows")
    check.add_argument("files", nargs="+", metavar="FILE", help="DIR, or MODEL and CERTIFICATE, and then DATA")
    check.add_argument("--id", help="the certificate's id, as you know it from elsewhere")
    check.add_argument("--strict", action="store_true", help="end with 3 while something that could be checked was not")
    check.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(call)
    if [os.path.exists(os.path.join(path, "current.json")) for path in args.files[:2]] == [False, True]:
        parser.error(f"{args.files[1]} is an output directory: name it first, and then the data {args.files[0]}")
    return args


def main(call):
    """Returns the exit status."""
    args, printed = arguments(call), io.StringIO()
    with contextlib.redirect_stdout(printed) if args.json else contextlib.nullcontext():
        try:
            here(*args.files)
            model, certificate, *data = [*(current(args.files[0]) if len(args.files) == 1 or os.path.isdir(args.files[0]) else args.files[:1]), *args.files[1:]]
            report = verify(model, certificate, data, args.id, args.strict)
        except Exception as err:  # whatever the files bring about, they are refused
            missing = isinstance(err, (FileNotFoundError, IsADirectoryError))
            said = f"{err.filename}: {err.strerror.lower()}" if missing else f"{'' if isinstance(err, (Refused, ImportError)) else type(err).__name__ + ': '}{err}"
            report = {"status": 1, "refused": said}
            print(("error: " if missing or isinstance(err, ImportError) else "REFUSED ") + plain(said))
    if args.json:
        print(json.dumps({"verdict": "", "not_checked": [], **report, "printed": printed.getvalue()}), flush=True)
    return report["status"]


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()  # standard error has a buffer of a line
    os._exit(status)  # Arrow's threads can abort an interpreter that is taken down (apache/arrow#34314), and the status is the verdict
