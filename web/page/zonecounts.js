// A camera's zones and lines with what they have seen, in words.
import { count } from "./format.js";

// counted lists them by a layout and a Status, which may be older than the layout: what it
// does not know has seen nothing yet.
export function counted(layout, status) {
  const of = (list, name) => list?.find((c) => c.name === name) ?? {};
  return [
    ...layout.zones.map((zone) => {
      const { objects = 0, entries = 0 } = of(status?.zones, zone.name);
      return { kind: "zone", name: zone.name, points: zone.polygon, busy: objects > 0, words: `${count(objects)} inside, ${count(Number(entries))} entered` };
    }),
    ...layout.lines.map((line) => {
      const { aToB = 0, bToA = 0 } = of(status?.lines, line.name);
      return { kind: "line", name: line.name, points: line.points, busy: false, words: `a→b ${count(Number(aToB))}, b→a ${count(Number(bToA))}` };
    }),
  ];
}
