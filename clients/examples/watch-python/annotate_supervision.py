#!/usr/bin/env python3
"""Draws what is in sight of a camera by supervision's annotators, with the path of each object, and writes PNGs.

    make clients                                # in segd's repository: dist/segd-VERSION-py3-none-any.whl
    python3 -m venv venv
    venv/bin/pip install "$(echo dist/segd-*.whl)[supervision]"
    venv/bin/python annotate_supervision.py demo FOLDER [--page http://127.0.0.1:8080] [--token TOKEN] [--frames 20]
"""

import argparse
import itertools
import os

import supervision as sv

import segd

parser = argparse.ArgumentParser()
parser.add_argument("camera")
parser.add_argument("folder", help="for the pictures, such as demo-000012.png")
parser.add_argument("--page", default=os.environ.get("SEGD_CLIENT_PAGE", "http://127.0.0.1:8080"))
parser.add_argument("--token", default=os.environ.get("SEGD_CLIENT_TOKEN"))
parser.add_argument("--frames", type=int, default=20)
args = parser.parse_args()

by_track = sv.ColorLookup.TRACK  # objects keep their colours
masks = sv.MaskAnnotator(color_lookup=by_track)
paths = sv.TraceAnnotator(color_lookup=by_track)
labels = sv.LabelAnnotator(color_lookup=by_track, smart_position=True)

with segd.watch(args.camera, page=args.page, token=args.token) as frames, sv.ImageSink(args.folder) as sink:
    for frame in itertools.islice(frames, args.frames):
        seen = frame.detections()
        picture = masks.annotate(frame.image().copy(), seen)
        picture = paths.annotate(picture, seen)
        picture = labels.annotate(picture, seen, labels=list(seen.data["name"]))
        sink.save_image(picture, f"{frame.camera}-{frame.sequence:06d}.png")
        print(f"frame {frame.sequence}: {len(seen)} in sight", flush=True)
