"""What a verifier says of what it finds."""


class Refused(Exception):
    """Something does not agree with the specification or the certificate."""


def need(condition, message):
    if not condition:
        raise Refused(message)


def ok(message):
    print("ok    " + message)
