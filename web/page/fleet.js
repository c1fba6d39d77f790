// What a fleet, several segd that share cameras, tells of boxes and cameras, in words.

const causes = {
  died: "which fell silent", left: "which ended", drain: "which is drained", rebalance: "which had less room",
  move: "as an operator asked for it", misfit: "which could not run it",
};

// place says which box runs a camera, or why none does, by what the fleet tells of it; null: there is no fleet.
export function place(camera) {
  if (!camera) return "";
  return camera.box ? `box ${camera.box}` : camera.fault || "no box";
}

// origin says which box a camera came from, and why it did; nothing of one that was there before.
export function origin({ box, from, why }) {
  return from && from !== box && causes[why] ? `from ${from}, ${causes[why]}` : "";
}

// stateOf is one word for a box, and its name in the style sheet.
export function stateOf({ alive, by, cordoned, drained }) {
  if (!alive) return by ? { kind: "silent", word: "Silent" } : { kind: "left", word: "Left" };
  if (drained) return { kind: "drained", word: "Drained" };
  return cordoned ? { kind: "cordoned", word: "Cordoned" } : { kind: "runs", word: "Runs" };
}

// labelsOf lists labels as they are written.
export function labelsOf(labels) {
  return Object.entries(labels ?? {}).sort().map(([name, value]) => `${name}=${value}`);
}

export function cameraCount(n, most = 0) {
  const cameras = (most || n) === 1 ? "camera" : "cameras";
  return most ? `${n} of ${most} ${cameras}` : `${n} ${cameras}`;
}
