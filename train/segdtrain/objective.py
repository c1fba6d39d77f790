"""What is asked of features, which is what the tracker does with them.

They are pooled over superpixels, standardised by the first view as a tracker's projection is by its first scene
(`features.FitProjection`: 64 for the variance of all channels, 4 for each of L, a and b) and compared by their cosine, or
weighed by a linear classifier. There are three demands:

distillation    the map of a disturbed picture is what the network that was begun with makes of it undisturbed, so that
                nothing that one knows is lost
correspondence  a superpixel of the second view is most like the one of the first that shows the same (InfoNCE; van den
                Oord et al., 2018)
regions         those of one region are alike (neighbourhood components; Goldberger et al., NIPS 2004), and a ridge
                classifier that was fitted to a region of the first view finds it in the second (Bertinetto et al., ICLR 2019)
"""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from . import superpixels

MAPS_VARIANCE = 64.0
COLOUR_VARIANCE = 4.0


@dataclass
class Weights:
    distillation: float = 1.0
    correspondence: float = 0.05
    regions: float = 0.2
    classifier: float = 1.0


HALF = 2  # superpixels are of pictures of half the size, which the maps, of a quarter, do not notice
SPACING = 8  # pixels of these from one superpixel to the next: of 2,000 in 854×480, nearly
TEMPERATURE = 0.1
RIDGE = 10.0
LEAST, MOST = 0.02, 0.6  # share of the picture that a region has to have


def rows(maps, colours, labels, count):
    """Pooled features and mean colours, N×count×(C+3)."""
    side = labels.shape[-1]
    maps = F.interpolate(maps, size=(side, side), mode="bilinear", align_corners=False)
    return superpixels.pool(torch.cat([maps, colours], 1).flatten(2), labels, count).transpose(1, 2)


def standardise(first, second):
    """Both views' rows by the mean and deviations of the first."""
    mean = first.mean(1, keepdim=True)
    channels = first.shape[2] - 3
    variance = ((first - mean) ** 2).mean(1, keepdim=True)
    scale = torch.cat(
        [
            (MAPS_VARIANCE / (variance[..., :channels].sum(2, keepdim=True) + 1e-6)).sqrt().expand(-1, -1, channels),
            (COLOUR_VARIANCE / (variance[..., channels:] + 1e-3)).sqrt(),
        ],
        2,
    )
    return (first - mean) * scale, (second - mean) * scale


def majority(labels, segments, count):
    """The label that most pixels of each superpixel have, N×count."""
    kinds = int(labels.max()) + 2
    flat = segments.reshape(len(segments), -1) * kinds + labels.reshape(len(labels), -1) + 1
    votes = torch.zeros(len(labels), count * kinds, device=labels.device).scatter_add_(1, flat, torch.ones_like(flat, dtype=torch.float32))
    return votes.view(len(labels), count, kinds).argmax(2) - 1


def halved(warp):
    """A warp of pixels as one of those of pictures of half the size, whose centres are between them."""
    linear, shift = warp[:, :2], warp[:, 2]
    middle = (HALF - 1) / 2
    return np.concatenate([linear, ((linear @ np.full(2, middle) + shift - middle) / HALF)[:, None]], 1)


def same(segments1, segments2, warp, count):
    """Of each superpixel of the second view the one of the first that shows most of it, and how much of it is in that."""
    side = segments1.shape[-1]
    warp = torch.as_tensor(warp, dtype=torch.float32, device=segments1.device)
    y, x = torch.meshgrid(torch.arange(side, dtype=torch.float32, device=warp.device), torch.arange(side, dtype=torch.float32, device=warp.device), indexing="ij")
    place = (torch.stack([x, y], 2).view(-1, 2) @ warp[:, :2].T + warp[:, 2]).round().long()
    inside = ((place >= 0) & (place < side)).all(1)
    place = place[inside]
    pairs = segments2.reshape(-1)[inside] * count + segments1[place[:, 1], place[:, 0]]
    votes = torch.zeros(count * count, device=warp.device).scatter_add_(0, pairs, torch.ones_like(pairs, dtype=torch.float32)).view(count, count)
    most, which = votes.max(1)
    return which, most / superpixels.areas(segments2[None], count)[0].clamp(min=1)


def centres(segments, count):
    """Where superpixels are, N×count×2 (x, y)."""
    n, h, w = segments.shape
    y, x = torch.meshgrid(torch.arange(h, dtype=torch.float32, device=segments.device), torch.arange(w, dtype=torch.float32, device=segments.device), indexing="ij")
    return superpixels.pool(torch.stack([x, y]).flatten(1).expand(n, -1, -1), segments, count).transpose(1, 2)


class Objective:
    """Scores a batch. seen and clean are (first, second) of N×3×S×S, labels of N×S×S, warps a list of 2×3 or None."""

    def __init__(self, start, weights=Weights()):
        self.start, self.weights = start, weights

    def __call__(self, network, normalise, batch):
        n, side = len(batch.seen[0]), batch.seen[0].shape[-1] // HALF
        maps = network(normalise(torch.cat(batch.seen)))
        losses = {}
        if self.weights.distillation:
            with torch.no_grad():
                want = self.start(normalise(batch.clean[0]))
            losses["distillation"] = F.mse_loss(maps[:n], want)
        colours = [superpixels.lab(F.avg_pool2d(p, HALF)) for p in batch.seen]
        labels = [l[:, ::HALF, ::HALF] for l in batch.labels]
        segments = [superpixels.segment(c, SPACING) for c in colours]
        count = (side // SPACING) ** 2
        x1, x2 = standardise(*(rows(m, c, s, count) for m, c, s in zip((maps[:n], maps[n:]), colours, segments)))
        there = [superpixels.areas(s, count) > 0 for s in segments]
        similar = torch.bmm(F.normalize(x2, dim=2), F.normalize(x1, dim=2).transpose(1, 2)) / TEMPERATURE
        similar = similar.masked_fill(~there[0][:, None, :], -1e4)
        at = centres(segments[0], count)
        kinds = [majority(l, s, count) for l, s in zip(labels, segments)]
        corresponding, alike, classified, right = [], [], [], []
        for k in range(n):
            if batch.warps[k] is not None:
                which, share = same(segments[0][k], segments[1][k], halved(batch.warps[k]), count)
                inside = there[1][k] & (share > 0.5)
                if int(inside.sum()) >= 20:
                    loss, matched = self._correspondence(similar[k][inside], which[inside], at[k])
                    corresponding.append(loss)
                    right.append(matched)
            if (kinds[0][k] >= 0).any():
                a, c = self._regions(similar[k], x1[k], x2[k], kinds[0][k], kinds[1][k], there[0][k], there[1][k])
                alike += a
                classified += c
        for name, list_ in (("correspondence", corresponding), ("regions", alike), ("classifier", classified)):
            if list_:
                losses[name] = torch.stack(list_).mean()
        total = sum(getattr(self.weights, name) * loss for name, loss in losses.items())
        shown = {name: float(loss.detach()) for name, loss in losses.items()}
        if right:
            shown["matched"] = sum(right) / len(right)
        return total, shown

    @staticmethod
    def _correspondence(similar, which, at):
        # What is next to the right one is nearly right, and no counterexample.
        beside = (torch.cdist(at[which], at) < 1.6 * SPACING).scatter(1, which[:, None], False)
        similar = similar.masked_fill(beside, -1e4)
        return F.cross_entropy(similar, which), float((similar.argmax(1) == which).float().mean())

    @staticmethod
    def _regions(similar, x1, x2, kinds1, kinds2, there1, there2):
        """Of every region that is in both views and neither small nor nearly all: how alike its superpixels are to those of the
        first view in it, and how well a classifier of the first finds it in the second."""
        known1, known2 = (kinds1 >= 0) & there1, (kinds2 >= 0) & there2
        if int(known1.sum()) < 40 or int(known2.sum()) < 40:
            return [], []
        logits = similar[known2][:, known1]
        same = kinds2[known2][:, None] == kinds1[known1][None]
        has = same.any(1) & ~same.all(1)
        alike = []
        if has.any():
            p = torch.log_softmax(logits[has], 1)
            alike.append(-torch.logsumexp(p.masked_fill(~same[has], -1e4), 1).mean())
        classified = []
        one = torch.ones(len(x1), 1, device=x1.device)
        a, b = torch.cat([x1, one], 1)[known1], torch.cat([x2, one], 1)[known2]
        for kind in kinds1[known1].unique():
            y1, y2 = kinds1[known1] == kind, kinds2[known2] == kind
            if not (LEAST < y1.float().mean() < MOST and LEAST < y2.float().mean() < MOST):
                continue
            # Object and background weigh the same, as they do in the tracker.
            w1 = torch.where(y1, 0.5 / y1.sum(), 0.5 / (~y1).sum()) * len(y1)
            gram = a.T @ (w1[:, None] * a) + RIDGE * torch.eye(a.shape[1], device=a.device)
            w = torch.linalg.solve(gram, a.T @ (w1 * (2.0 * y1 - 1)))
            margin = (b @ w) * (2.0 * y2 - 1)
            w2 = torch.where(y2, 0.5 / y2.sum(), 0.5 / (~y2).sum())
            classified.append((w2 * F.softplus(-4 * (margin - 0.2)) / 4).sum())
        return alike, classified
