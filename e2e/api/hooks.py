"""What `make api-test` tells schemathesis that openapi.json cannot: what the demo's
camera is like, and for which reasons a request as described may be refused with 400."""

import json
import re
import struct
import urllib.request
import zlib

import schemathesis
from hypothesis import strategies as st

WIDTH, HEIGHT = 768, 576  # of the demo's frames

# Beyond this a list is not filled to its limit: drawing 10,000 points takes minutes.
# tracker's tests have those limits.
LONGEST = 1000

# Rules of annotations, names and zones that a JSON schema cannot have.
REASONS = re.compile(
    "|".join(
        (
            "none; want at least one (object|stroke)",  # it marks nothing
            "no object is known that strokes",
            "is used twice",
            "polygon and box; want one of them",
            "is (outside|not inside) the 768×576 frame",
            "at least 1 more than",  # a box without area
            "want a brush of more than 0 and at most 768",
            "would paint [0-9]+ times the frame",
            "unprintable character",
            # of zones and lines
            "cross or touch; accepted: a polygon that does not cross itself",
            "is point [0-9]+ already",
            "its area is .* of the picture",
            "both points are",
            r"is (zones|lines)\[[0-9]+\]'s name already",
            "accepts a duration of 1s or more",
        )
    )
)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    raw_schema["components"]["parameters"]["camera"]["schema"]["enum"] = ["demo"]
    annotation = raw_schema["components"]["schemas"]["Annotation"]["properties"]
    annotation["width"]["enum"], annotation["height"]["enum"] = [WIDTH], [HEIGHT]
    forget_long(raw_schema)


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    """Every other number of an object or frame becomes one that there is."""
    for name in ("sequence", "id"):
        number = case.path_parameters.get(name)
        if not is_positive(case) or not isinstance(number, int) or number % 2 == 0:
            continue
        with urllib.request.urlopen(f"{case.operation.base_url}/cameras/demo/objects") as answer:
            now = json.load(answer)
        known = [now["sequence"]] if name == "sequence" else [o["id"] for o in now["objects"]]
        if known:
            case.path_parameters[name] = known[number % len(known)]


def forget_long(node):
    if isinstance(node, dict):
        if node.get("maxItems", 0) > LONGEST:
            del node["maxItems"]
        node = list(node.values())
    if isinstance(node, list):
        for member in node:
            forget_long(member)


def png(ids):
    """A grey PNG of the camera's size with a band for each id."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    band = HEIGHT // (len(ids) + 1)
    rows = b"".join(b"\0" + bytes([ids[y // band] if y // band < len(ids) else 0]) * WIDTH for y in range(HEIGHT))
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


schemathesis.openapi.media_type(
    "image/png", st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True).map(png)
)


@schemathesis.check
def refusals_have_a_reason(ctx, response, case):
    """A request that is as described is refused with 400 or 415 only for a reason that
    the description cannot express, and the answer points at the field."""
    if response.status_code not in (400, 415) or not is_positive(case):
        return
    if case.media_type == "image/png" and not isinstance(case.body, bytes):
        return  # a string such as the schema has it, and no picture
    problem = response.json()
    for fault in problem.get("errors", [problem]):
        if not REASONS.search(fault["detail"]):
            raise AssertionError(f"refused, and openapi.json would have it: {fault}")
        if "would paint" not in fault["detail"]:  # all of it together
            points_into(case.body, fault["pointer"])


def points_into(body, pointer):
    *way, last = pointer.removeprefix("/").split("/")
    for name in way:
        body = body[int(name) if isinstance(body, list) else name]
    if isinstance(body, list):
        body[int(last)]
    elif not isinstance(body, dict):  # a member may be missing, which is the fault then
        raise AssertionError(f"{pointer} is nowhere in the body")
