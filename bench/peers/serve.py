"""What all peers share: cases come on stdin, one a line; answers go to stdout."""
import json
import sys
import time


def serve(answer):
    """Answers each line of stdin, a JSON case, with a line of JSON: what answer(case) returns."""
    for line in sys.stdin:
        try:
            result = answer(json.loads(line))
        except Exception as err:  # the reader shows it and goes on without this case
            result = {"error": f"{type(err).__name__}: {err}"}
        print(json.dumps(result), flush=True)


def seconds(run, least=0.1):
    """Seconds a call, over calls that together take the given time."""
    run()
    calls, took = 1, 0.0
    while took < least:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        took = time.perf_counter() - start
        if took < least:
            calls = max(calls + 1, int(1.2 * calls * least / max(took, 1e-7)))
            calls = min(calls, 1 << 20)
    return took / calls
