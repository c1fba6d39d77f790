#!/usr/bin/env python3
"""Draws a camera's masks on its pictures by OpenCV, and writes them to a video.

    make clients                                # in segd's repository: dist/segd-VERSION-py3-none-any.whl
    python3 -m venv venv
    venv/bin/pip install "$(echo dist/segd-*.whl)[images]" opencv-python-headless
    venv/bin/python draw_opencv.py demo demo.mp4 [--page http://127.0.0.1:8080] [--token TOKEN] [--frames 100]
"""

import argparse
import itertools
import os
import sys

import cv2
import numpy as np

import segd

COLOURS = [(60, 180, 75), (48, 130, 245), (180, 30, 145), (240, 240, 70), (25, 225, 255), (230, 50, 240)]


def draw(frame):
    """Returns the frame's picture with masks, outlines and names."""
    picture = frame.image().copy()
    for obj in frame.objects:
        name = segd.name(obj)
        mask, colour = frame.masks[name], COLOURS[obj.id % len(COLOURS)]
        picture[mask] = picture[mask] // 2 + np.array(colour, np.uint8) // 2
        outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, outlines, -1, colour, 1)
        if outlines:
            cv2.putText(picture, name, (obj.box.x, obj.box.y - 4), cv2.FONT_HERSHEY_SIMPLEX, 0.5, colour)
    return picture


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("camera")
    parser.add_argument("file", help="the video, such as demo.mp4")
    parser.add_argument("--page", default=os.environ.get("SEGD_CLIENT_PAGE", "http://127.0.0.1:8080"))
    parser.add_argument("--token", default=os.environ.get("SEGD_CLIENT_TOKEN"))
    parser.add_argument("--frames", type=int, default=100)
    args = parser.parse_args()
    with segd.watch(args.camera, page=args.page, token=args.token, queue=16) as frames:
        first = next(frames)
        video = cv2.VideoWriter(args.file, cv2.VideoWriter_fourcc(*"mp4v"), 10, (first.width, first.height))
        if not video.isOpened():
            sys.exit(f"OpenCV cannot write a video to {args.file}")
        for frame in itertools.chain([first], itertools.islice(frames, args.frames - 1)):
            video.write(draw(frame))
        print(f"{args.frames} frames in {args.file}, {frames.dropped} dropped")
    video.release()


main()
