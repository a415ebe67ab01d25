"""The error of the verifier, checks that raise it, and lines of output."""
import inspect
import os


class Refused(ValueError):
    """Something does not agree with the specification or the certificate."""


def need(condition, message):
    if not condition:
        raise Refused(plain(message))


def here(*paths):
    """Refuses addresses of stores, which may have secrets."""
    for path in map(str, paths):
        need("://" not in path, f"{path.split('://')[0]}://… is in a store, and this package reads files of this machine: copy them here, as by "
             "aws s3 cp --recursive s3://BUCKET/PATH FOLDER, or take the program pacsgp, which reads stores")


def content(path, most):
    """The bytes of a regular file of at most this size: a pipe may never end."""
    need(not os.path.exists(path) or os.path.isfile(path) and os.path.getsize(path) <= most, f"{path} is no file of at most {most >> 20} MiB")
    with open(path, "rb") as f:
        return f.read()


def plain(text):
    """The text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


outside = lambda: next(i for i, frame in enumerate(inspect.stack(0)) if os.path.dirname(frame.filename) != os.path.dirname(__file__))  # the level, for warnings, of the line that called this package
ok = lambda message: print("ok   " + plain(message), flush=True)
