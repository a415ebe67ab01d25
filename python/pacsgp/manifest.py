"""Which files of the data a sample stands in, by the manifest beside its certificate
(format.md, 1.2): a lake may have grown since."""
import hashlib
import os
import struct

from .forms import digest, text
from .jsontext import count, fits, read_json
from .listing import Listing
from .refusal import need, ok

MAGIC = b"ARROW1"
MANIFEST = {"format": {"pacsgp-manifest/1"}, "certificate": digest, "sample": digest,
            "files": [{"path": text, "bytes": count, "rows": count, "footer": digest, "shards": [{"rows": count, "digest": digest}], "modified?": text}]}


def sampled(paths, certificate, found, sample):
    """The files of the data that the manifest names, known by size and footer; the data as
    they are without a manifest, or where not all of its files are among them."""
    place = os.path.join(os.path.dirname(certificate), f"manifest-{found}.json")
    if not os.path.exists(place):
        return paths
    with open(place, "rb") as f:
        manifest = read_json(f.read(), "manifest")
    fits(manifest, MANIFEST, "the manifest")
    shards = [s for f in manifest["files"] for s in f["shards"]]
    of = hashlib.sha256(b"pacsgp/sample/1\0" + struct.pack("<Q", len(shards)) + b"".join(bytes.fromhex(s["digest"]) for s in shards)).hexdigest()
    need(manifest["certificate"] == found and manifest["sample"] == of == sample["digest"] and sum(s["rows"] for s in shards) == sample["rows"]
         and all(f["rows"] == sum(s["rows"] for s in f["shards"]) for f in manifest["files"]), "the manifest is not that of the certificate")
    files, chosen = Listing(paths).files, []
    for f in manifest["files"]:
        alike = [path for path in files if path not in chosen and os.path.getsize(path) == f["bytes"] and footer_digest(path) == f["footer"]]
        if not alike:
            return paths
        chosen.append(max(alike, key=lambda path: common_end(path, f["path"])))
    ok(f"the manifest names {len(chosen)} file{'s' * (len(chosen) != 1)}, all of which are among the data" + (f"; not in the sample are {len(files) - len(chosen)} of them: see that the choice does not depend on their values" if len(files) > len(chosen) else ""))
    return chosen


def footer_digest(path):
    with open(path, "rb") as f:
        tail = 10 if f.read(len(MAGIC)) == MAGIC else 8
        size = f.seek(-tail, 2)
        length, = struct.unpack("<I", f.read(4))
        f.seek(max(0, size - length))
        return hashlib.sha256(f.read(length)).hexdigest()


def common_end(a, b):
    """How many names two paths have in common at their ends."""
    n = 0
    for x, y in zip(reversed(a.replace(os.sep, "/").split("/")), reversed(b.split("/"))):
        if x != y:
            break
        n += 1
    return n
