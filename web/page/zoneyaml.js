// Zones and lines as the configuration has them, to be pasted below a camera. Names are
// quoted: one such as 12 or no would be something else.
export function toYAML({ zones, lines }) {
  const out = [];
  if (zones.length > 0) out.push("zones:");
  for (const z of zones) {
    out.push(`  - name: "${z.name}"`, `    polygon: ${pairs(z.polygon)}`);
    if (z.by === "share") out.push("    by: share", `    share: ${z.share}`);
    if (z.dwell) out.push(`    dwell: ${z.dwell}`);
  }
  if (lines.length > 0) out.push("lines:");
  for (const l of lines) out.push(`  - name: "${l.name}"`, `    points: ${pairs(l.points)}`);
  return out.map((line) => `    ${line}\n`).join("");
}

const pairs = (points) => `[${points.map(([x, y]) => `[${x}, ${y}]`).join(", ")}]`;
