"""Writes functions.csv: function, x, value, rest.

x and value, the true value rounded to nearest, are in hexadecimal; rest is what the rounding left,
in units in the last place of value. From 60 digits.
Run with mpmath 1.3: python functions.py > functions.csv
"""

import random
import struct

import mpmath as mp

mp.mp.dps = 60


def neighbours(x):
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return [struct.unpack("<d", struct.pack("<q", bits + k))[0] for k in (-1, 0, 1)]


def emit(name, f, xs):
    for x in xs:
        v = f(mp.mpf(x))
        _, e = mp.frexp(v)
        unit = max(int(e) - 53, -1074)
        n = mp.nint(mp.ldexp(v, -unit))
        rest = mp.ldexp(v, -unit) - n
        print(f"{name},{x.hex()},{float(mp.ldexp(n, unit)).hex()},{float(rest):.4f}")


def main():
    r = random.Random(1)
    ln2 = float(mp.log(2))
    tiny = [s * 10.0**-e for e in (1, 2, 5, 8, 10, 15, 16, 17, 20, 100, 300, 320) for s in (-1, 1)]
    xs = tiny + [r.uniform(-1, 1) for _ in range(500)] + [r.uniform(-745, 709) for _ in range(1500)]
    xs += [r.uniform(-746, -700) for _ in range(300)]
    for k in list(range(-20, 21)) + [-1074, -1022, 1000, 1023]:
        xs += neighbours((k + 0.5) * ln2)
    xs += neighbours(709.782712893384) + neighbours(-745.1332191019411) + neighbours(-708.3964185322641)
    emit("exp", mp.exp, [x for x in xs if x < 709.782712893384])

    xs = tiny + [r.uniform(-1, 1) for _ in range(500)] + [r.gauss(0, 2) for _ in range(700)]
    xs += [r.uniform(-38.6, 8.5) for _ in range(1200)] + [r.uniform(-38.6, -37) for _ in range(200)]
    xs += [v for c in (-40.0, -38.5, -4.0, 4.0, 8.3, 38.5, 40.0) for v in neighbours(c)]
    emit("cdf", lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, xs)
    xs += [r.uniform(8.5, 38.6) for _ in range(300)]
    emit("pdf", lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi), xs)


if __name__ == "__main__":
    main()
