// What can honestly be said about a feed right now.
import { sentence } from "./fieldfaults.js";
import { clock, milliseconds, rate, span } from "./format.js";

const leastPatience = 2000; // ms without a frame before the picture counts as stale
const published = /^whip:/; // the reason why a camera is down that nobody can dial
const coming = "a box is about to take it"; // the fleet's word for a camera between two boxes
const keptUp = 0.8; // of the frames that came; below it the camera counts as behind
const patienceFrames = 4; // or this many frame periods, for slow cameras

// health returns kind (live, moving, waiting, stale, down, lost or paused), a word for the pill, a
// title and text for the veil over the picture (no title: no veil), and what a small picture has
// room for (note; may be missing).
export function health(feed, now = performance.now()) {
  if (feed.info.paused) return { kind: "paused", pill: "Paused", title: "Paused", text: "segd does not fetch its pictures until it is resumed." };
  if (feed.info.fault) return { kind: "down", pill: "Not running", title: "segd cannot run this camera", text: feed.info.fault };
  const nowhere = feed.place?.fault && feed.quiet(now) > patience(feed);
  if (feed.moving(now) && !(nowhere && feed.place.fault !== coming)) {
    return { kind: "moving", pill: "Moving", title: feed.frame ? "" : "The camera moves to another box", text: "" };
  }
  if (nowhere) return { kind: "down", pill: "No box", title: "No box runs this camera", text: `${sentence(feed.place.fault)}.` };
  if (feed.link !== "open") return unlinked(feed, now);
  if (feed.status && !feed.status.up) return down(feed.status);
  if (!feed.frame) {
    return { kind: "waiting", pill: "Waiting", title: "Waiting for the first frame", text: feed.status?.error ?? "" };
  }
  const quiet = feed.quiet(now);
  if (quiet > patience(feed)) {
    return {
      kind: "stale", pill: "Stale", note: `for ${span(quiet)}`, title: `No new frame for ${span(quiet)}`,
      text: `The picture is of ${clock(new Date(feed.frame.mask.captureTime))}.`,
    };
  }
  if (feed.status && isBehind(feed.status)) {
    const { fpsIn, fpsOut } = feed.status;
    return { kind: "live", behind: true, pill: "Behind", note: `${rate(fpsOut)} of ${rate(fpsIn)} frames/s`, title: "", text: "" };
  }
  return { kind: "live", pill: "Live", ...(feed.status?.deinterlaced && { note: "deinterlaced" }), title: "", text: "" };
}

// isBehind tells whether a camera's frames come faster than segd follows.
function isBehind({ fpsIn, fpsOut }) {
  return fpsIn > 0 && fpsOut < keptUp * fpsIn;
}

// overload says by how much a camera is behind, why, and what helps. box is the machine: { cores, cameras }, or null.
export function overload({ status, frame, place }, box) {
  const objects = frame.objects.length;
  const load = [`${objects} object${objects === 1 ? "" : "s"} here`];
  if (box && !place) load.push(`${box.cameras} camera${box.cameras === 1 ? "" : "s"} on ${box.cores} processor core${box.cores === 1 ? "" : "s"}`);
  const late = status.latencyP50Seconds > 0 ? `, ${milliseconds(1000 * status.latencyP50Seconds)} late` : "";
  return `segd is behind: ${rate(status.fpsOut)} of ${rate(status.fpsIn)} frames a second${late}. It has ${load.join(", ")}. ` +
    "Fewer objects, fewer cameras, a lower frame rate of the camera or a GPU help.";
}

function patience(feed) {
  const fps = Number(feed.status?.fpsOut);
  return Math.max(leastPatience, fps > 0 ? (patienceFrames * 1000) / fps : 0);
}

function unlinked(feed, now) {
  if (feed.link === "waiting") {
    const seconds = Math.max(0, Math.ceil((feed.retryAt - now) / 1000));
    return {
      kind: "lost", pill: "Reconnecting", title: "No connection to segd",
      text: `${feed.reason ? `${feed.reason}. ` : ""}Trying again in ${seconds} s.`,
    };
  }
  return { kind: feed.frame ? "lost" : "waiting", pill: "Connecting", title: "Connecting to segd", text: feed.reason };
}

function down(status) {
  const since = status.downSince ? new Date(status.downSince) : null;
  const note = since ? `since ${clock(since)} (${span(Date.now() - since)})` : "";
  const why = status.error ?? "";
  return {
    kind: "down", pill: "Camera down", note, title: `Camera down ${note}`,
    text: `${why}${/[^.?!]$/.test(why) ? "." : ""} ${tried(status)}`,
  };
}

// tried says what is being done about it.
function tried(status) {
  if (published.test(status.error)) return "Waiting for a publisher.";
  if (!status.nextAttempt) return ""; // it has ended, or segd stops
  const left = Math.ceil((new Date(status.nextAttempt) - new Date(status.time)) / 1000);
  const times = status.attempts === 1 ? "once" : `${status.attempts} times`;
  return `Dialled ${times}; ${left > 0 ? `again in ${span(1000 * left)}` : "being dialled now"}.`;
}
