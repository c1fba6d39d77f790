"""Two views of one thing, as a camera might have them: cropped, warped and disturbed.

A view is what the network sees; of each there is also the undisturbed crop, which the network that was begun with sees, and
where each of its pixels is in the other view.
"""
from dataclasses import dataclass

import cv2
import numpy as np

from . import data

MARGIN = 48  # round the first view, out of which the second one may look


@dataclass
class Pair:
    """Two views, S×S. Pictures are 3×S×S float32 of 0…255, labels S×S."""

    clean: tuple  # what the network that was begun with sees
    seen: tuple  # what the network sees
    labels: tuple
    # Where pixel p of the second view is in the first: matrix (2×3) of x and y; None of two frames of a video.
    warp: np.ndarray


def crop(rng, picture, labels, size):
    """A random part of a picture, of a random aspect, mirrored or not, at size×size, and where it was."""
    h, w = picture.shape[:2]
    side = rng.uniform(0.4, 1.0) * min(h, w)
    aspect = rng.uniform(0.8, 1.25)
    ch, cw = int(min(h, side * aspect**0.5)), int(min(w, side / aspect**0.5))
    box = rng.integers(h - ch + 1), rng.integers(w - cw + 1), ch, cw
    return cut(picture, labels, box, rng.random() < 0.5, size), box


def cut(picture, labels, box, mirrored, size):
    y, x, h, w = box
    p = cv2.resize(picture[y : y + h, x : x + w], (size, size), interpolation=cv2.INTER_AREA if h > size else cv2.INTER_LINEAR)
    l = cv2.resize(labels[y : y + h, x : x + w], (size, size), interpolation=cv2.INTER_NEAREST)
    return (p[:, ::-1], l[:, ::-1]) if mirrored else (p, l)


def light(rng, p):
    """What differs between pictures, and what is distilled is to show as well."""
    if rng.random() < 0.7:
        p = p * rng.uniform(0.6, 1.3) + rng.uniform(-25, 25)
    if rng.random() < 0.3:
        p = p * rng.uniform(0.85, 1.15, (1, 1, 3))
    if rng.random() < 0.2:
        p = cv2.GaussianBlur(p, (0, 0), rng.uniform(0.5, 1.5))
    if rng.random() < 0.2:
        p = p + rng.normal(0, rng.uniform(1, 6), p.shape)
    return np.clip(p, 0, 255)


def disturb(rng, p, grey=False):
    """What a camera does, and features are not to show: exposure, gamma, white balance, blur, noise, compression; and
    the grey of an infrared lamp."""
    if rng.random() < 0.6:
        p = 255 * (np.clip(p, 0, 255) / 255) ** np.exp(rng.uniform(-0.5, 0.5))
    if rng.random() < 0.6:
        p = p * rng.uniform(0.55, 1.4) + rng.uniform(-20, 20)
    if grey:
        weights = rng.dirichlet((1, 2, 4))  # infrared is nearest to red
        p = np.repeat((p * weights).sum(2, keepdims=True), 3, 2)
    elif rng.random() < 0.4:
        p = p * rng.uniform(0.85, 1.15, (1, 1, 3))
    if rng.random() < 0.25:
        p = cv2.GaussianBlur(p, (0, 0), rng.uniform(0.5, 1.8))
    if rng.random() < 0.15:
        p = motion_blur(rng, p)
    if rng.random() < 0.3:
        p = p + rng.normal(0, rng.uniform(1, 8), p.shape)
    p = np.clip(p, 0, 255)
    if rng.random() < 0.4:
        _, jpeg = cv2.imencode(".jpg", p.astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(25, 85))])
        p = cv2.imdecode(jpeg, cv2.IMREAD_COLOR).astype(np.float64)
    return p


def motion_blur(rng, p):
    n, angle = int(rng.integers(3, 10)), rng.uniform(0, np.pi)
    kernel = np.zeros((n, n), np.float32)
    d = np.array([np.cos(angle), np.sin(angle)]) * (n - 1) / 2
    c = (n - 1) / 2
    cv2.line(kernel, (round(c - d[0]), round(c - d[1])), (round(c + d[0]), round(c + d[1])), 1)
    return cv2.filter2D(p, -1, kernel / kernel.sum())


def affine(rng, size):
    """Where a pixel of the second view is in the first: a random zoom, turn, shear and shift about its middle."""
    s, turn, shear = np.exp(rng.uniform(-0.5, 0.5)), rng.normal(0, 0.25), rng.normal(0, 0.08, 2)
    c, n = np.cos(turn) * s, np.sin(turn) * s
    linear = np.array([[c, -n], [n, c]]) @ np.array([[1, shear[0]], [shear[1], 1]])
    middle = np.array([size / 2, size / 2])
    return np.concatenate([linear, (middle + rng.uniform(-40, 40, 2) - linear @ middle)[:, None]], 1)


def pair(rng, item, size):
    """Two views of an item: of one picture warped, or of two frames of a video."""
    if item.next is not None and rng.random() < 0.7:
        return _frames(rng, item, size)
    picture, labels = data.read(item, rng)
    (p, l), _ = crop(rng, picture, labels, size + 2 * MARGIN)
    p = light(rng, p.astype(np.float64))
    warp = affine(rng, size)
    first = np.array([[1.0, 0, MARGIN], [0, 1, MARGIN]])
    second = warp.copy()
    second[:, 2] += MARGIN
    views = [_view(p, l, m, size) for m in (first, second)]
    return _pair(rng, views, warp)


def _frames(rng, item, size):
    a, b = data.read(item, rng), data.read(item.next, rng)
    mirrored = rng.random() < 0.5
    h, w = a[0].shape[:2]
    side = int(rng.uniform(0.5, 1.0) * min(h, w))
    box = rng.integers(h - side + 1), rng.integers(w - side + 1), side, side
    views = []
    for picture, labels in (a, b):
        p, l = cut(picture, labels, box, mirrored, size)
        views.append((p.astype(np.float64), np.ascontiguousarray(l)))
    return _pair(rng, views, None)


def _view(p, l, matrix, size):
    inverse = cv2.WARP_INVERSE_MAP
    return (
        cv2.warpAffine(p, matrix, (size, size), flags=cv2.INTER_LINEAR | inverse, borderMode=cv2.BORDER_REFLECT_101),
        cv2.warpAffine(l.astype(np.float32), matrix, (size, size), flags=cv2.INTER_NEAREST | inverse, borderMode=cv2.BORDER_CONSTANT, borderValue=data.UNKNOWN).astype(np.int64),
    )


def _pair(rng, views, warp):
    grey = rng.random() < 0.1  # both: nobody's day is compared with a night
    planes = lambda p: np.ascontiguousarray(p.transpose(2, 0, 1), dtype=np.float32)
    seen = [disturb(rng, p, grey) if rng.random() < 0.65 or grey else p for p, _ in views]
    return Pair(tuple(planes(p) for p, _ in views), tuple(map(planes, seen)), tuple(l.astype(np.int64) for _, l in views), warp)
