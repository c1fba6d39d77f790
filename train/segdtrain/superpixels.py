"""Superpixels of training crops, by a few rounds of SLIC (Achanta et al., PAMI 2012) on a grid.

segd grows its own by SNIC, one picture at a time; these are as large and nearly as good, and take a millisecond a crop.
"""
import torch
import torch.nn.functional as F

LAB_WHITE = (0.950456, 1.0, 1.088754)


def lab(bgr):
    """CIELAB of N×3×H×W sRGB of 0…255, L in 0…100."""
    rgb = bgr.flip(1) / 255
    rgb = torch.where(rgb > 0.04045, ((rgb.clamp(min=0) + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    m = torch.tensor([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]], device=bgr.device)
    xyz = torch.einsum("ij,njhw->nihw", m, rgb) / torch.tensor(LAB_WHITE, device=bgr.device).view(1, 3, 1, 1)
    f = torch.where(xyz > 0.008856, xyz.clamp(min=1e-9) ** (1 / 3), 7.787 * xyz + 16 / 116)
    x, y, z = f.unbind(1)
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], 1)


@torch.no_grad()
def segment(colours, spacing, compactness=5.0, rounds=3):
    """Labels N×H×W of N×3×H×W CIELAB, both sides multiples of spacing: (H/spacing)·(W/spacing) superpixels each, numbered
    from 0 row by row."""
    n, _, h, w = colours.shape
    if h % spacing or w % spacing:
        raise ValueError(f"{h}×{w} pixels and superpixels {spacing} apart; want multiples")
    rows, cols = h // spacing, w // spacing
    y, x = torch.meshgrid(torch.arange(h, dtype=torch.float32, device=colours.device), torch.arange(w, dtype=torch.float32, device=colours.device), indexing="ij")
    # A side's length weighs as much as so many units of Lab.
    pixels = torch.cat([colours, (torch.stack([y, x]) * (compactness / spacing)).expand(n, -1, -1, -1)], 1)
    row, col = (y / spacing).long(), (x / spacing).long()
    labels = (row * cols + col).expand(n, -1, -1)
    flat = pixels.flatten(2)
    for _ in range(rounds):
        centres = pool(flat, labels, rows * cols).view(n, -1, rows, cols)
        padded = F.pad(centres, (1, 1, 1, 1), mode="replicate")
        best = torch.full((n, h, w), float("inf"), device=colours.device)
        found = labels
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                near = padded[:, :, 1 + dy : 1 + dy + rows, 1 + dx : 1 + dx + cols]
                distance = (pixels - near.repeat_interleave(spacing, 2).repeat_interleave(spacing, 3)).square_().sum(1)
                there = ((row + dy).clamp(0, rows - 1) * cols + (col + dx).clamp(0, cols - 1)).expand(n, -1, -1)
                closer = distance < best
                best, found = torch.where(closer, distance, best), torch.where(closer, there, found)
        labels = found
    return labels


def pool(values, labels, count):
    """Means of N×C×P values over superpixels: N×C×count. Labels are N×H×W with H·W = P; one without pixels is 0."""
    n, c, _ = values.shape
    index = labels.reshape(n, 1, -1).expand(-1, c, -1)
    sums = torch.zeros(n, c, count, device=values.device, dtype=values.dtype).scatter_add_(2, index, values)
    return sums / areas(labels, count).clamp(min=1).unsqueeze(1)


def areas(labels, count):
    """Pixels of each superpixel, N×count."""
    flat = labels.reshape(len(labels), -1)
    return torch.zeros(len(labels), count, device=labels.device).scatter_add_(1, flat, torch.ones_like(flat, dtype=torch.float32))
