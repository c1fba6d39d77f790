// The page of recordings: a camera's video between two times, with the masks that were published then. What is chosen is
// in its address, so that a reload shows the same, and an event can lead to its clip.
import * as api from "./api.js";
import { draw, drawLabels, fit } from "./draw.js";
import { setText } from "./dom.js";
import { clock, fieldTime } from "./format.js";
import { toObjects } from "./message.js";
import { toPath } from "./outline.js";
import { Colours } from "./palette.js";
import { root } from "./root.js";
import { View } from "./view.js";

const hour = 120; // files of half a minute
const mostListed = 2880; // that the API lists
const mostLate = 0.3; // seconds a frame has the masks of an earlier one, where it has none of its own
const complete = 45000; // ms after which a time is in a complete file
const again = 5000; // ms until what is not complete is asked for again

const byId = (id) => document.getElementById(id);
const form = byId("filter");
const canvas = byId("picture");
const video = byId("video");
const seek = byId("seek");
const view = new View();
const colours = new Colours();

let segments = []; // { name, start, end }, ms since 1970, in order
let span = { from: 0, to: 0 }; // what is played, likewise
let current = null; // the segment that is in the video
let masks = []; // { at, mask } of it, at in seconds
let wanted = { at: 0, play: false }; // of the video, once its masks are there
let stilling = false; // the video plays for its first picture only
let looking = null; // an AbortController of the list that is asked for
let loading = null; // and of the masks
let retry = 0;

// fill writes what the page's address chooses into the form.
function fill() {
  const query = new URLSearchParams(location.search);
  const camera = form.elements.camera;
  const wanted = query.get("camera");
  if (wanted && ![...camera.options].some((o) => o.value === wanted)) camera.append(new Option(wanted, wanted));
  if (wanted) camera.value = wanted;
  for (const name of ["from", "to"]) form.elements[name].value = fieldTime(query.get(name) ?? "");
}

// chosen is what the page's address asks for: it may be more precise than the form.
function chosen() {
  const query = new URLSearchParams(location.search);
  const asked = { camera: form.elements.camera.value };
  for (const name of ["from", "to"]) if (query.get(name)) asked[name] = query.get(name);
  return asked;
}

// show lists what is chosen, and shows its first picture. play: and plays it.
async function show({ play = false } = {}) {
  clearTimeout(retry);
  stop();
  const { camera, from, to } = chosen();
  byId("history-link").href = root(`history?${new URLSearchParams({ camera, ...(to ? { to } : {}) })}`);
  if (!camera) return fault("There is no camera.");
  setText(byId("status"), "Looking…");
  looking = new AbortController();
  await look({ camera, from, to, play, signal: looking.signal });
}

// look lists what is asked for, again until all of it is complete.
async function look(asked) {
  const { camera, from, to, play, signal } = asked;
  const had = segments.length > 0;
  try {
    const list = await api.recordings(camera, { limit: from ? mostListed : hour, ...(from ? { from } : {}), ...(to ? { to } : {}) }, signal);
    if (signal.aborted) return;
    segments = list.segments.map(({ name, start, end }) => segments.find((s) => s.name === name) ?? { name, start: Date.parse(start), end: Date.parse(end) });
    setText(byId("status"), list.state === "recording" ? "recording" : `${list.state}: ${list.reason}`);
  } catch (problem) {
    if (signal.aborted) return;
    for (const { at } of problem.faults ?? []) form.elements[at]?.setAttribute("aria-invalid", "true");
    setText(byId("status"), "");
    return fault(problem.message);
  }
  const soon = to && Date.now() - Date.parse(to) < complete && !(segments.at(-1)?.end >= Date.parse(to));
  if (soon) retry = setTimeout(() => look(asked), again);
  if (segments.length === 0) return fault(soon ? "It is not complete yet; it comes within half a minute." : "Nothing is recorded there.");
  span = { from: Math.max(segments[0].start, from ? Date.parse(from) : 0), to: Math.min(segments.at(-1).end, to ? Date.parse(to) : Infinity) };
  seek.max = (span.to - span.from) / 1000;
  if (had) return;
  byId("fault").hidden = true;
  seek.disabled = byId("play").disabled = false;
  // A clip begins at its beginning, the newest hour with its last half minute.
  await open(from ? span.from : Math.max(span.from, segments.at(-1).start), play);
}

function stop() {
  looking?.abort();
  loading?.abort();
  video.pause();
  video.removeAttribute("src");
  video.load();
  [segments, current, masks] = [[], null, []];
  seek.disabled = byId("play").disabled = true;
  byId("save").hidden = true;
  byId("fault").hidden = true;
  for (const field of form.elements) field.removeAttribute("aria-invalid");
  const ctx = canvas.getContext("2d", { alpha: false });
  ctx.clearRect(0, 0, canvas.width, canvas.height);
}

function fault(text) {
  setText(byId("fault"), text);
  byId("fault").hidden = false;
}

// open goes to a time: of what is recorded then, or next.
async function open(time, play) {
  // Of two that meet, and overlap by a rounded millisecond, the later one.
  const segment = segments.findLast((s) => s.start <= time && s.end > time) ?? segments.find((s) => s.start > time) ?? segments.at(-1);
  wanted = { at: Math.max(0, Math.min(time, segment.end - 1) - segment.start) / 1000, play };
  if (segment !== current) {
    current = segment;
    masks = [];
    loading?.abort();
    loading = new AbortController();
    const own = loading;
    const camera = form.elements.camera.value;
    video.src = root(`api/v1/cameras/${encodeURIComponent(camera)}/recordings/${segment.name}`);
    byId("save").href = video.src;
    byId("save").download = `${camera}-${segment.name}.mp4`;
    byId("save").hidden = false;
    try {
      const text = await api.recordedMasks(camera, segment.name, own.signal);
      if (own.signal.aborted) return;
      masks = text.split("\n").filter(Boolean).map((line) => JSON.parse(line)).map((mask) => ({ at: Number(mask.ptsNs) / 1e9, mask }));
      masks.sort((a, b) => a.at - b.at);
    } catch (problem) {
      if (own.signal.aborted) return;
      fault(problem.message); // the video plays without
    }
  }
  video.currentTime = wanted.at;
  const still = !wanted.play && video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA; // phones load no picture before they play
  if (!wanted.play && !still) return;
  stilling = still;
  await video.play().catch(() => {}); // another source has come, or error tells
  stilling = false;
  if (!wanted.play) video.pause();
  told();
}

// masksAt are those of the picture at a time of the video.
function masksAt(at) {
  const found = masks.findLast((m) => m.at <= at + 0.002);
  return found && at - found.at < mostLate ? found : null;
}

// paint draws the video's picture, which is of that time, and its masks.
function paint(at) {
  if (!current || video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) return;
  const ratio = fit(canvas);
  const found = masksAt(at);
  if (found && !found.objects) found.objects = toObjects(found.mask).map((o) => ({ ...o, path: toPath(o.loops) }));
  const objects = found?.objects ?? [];
  const size = found ? { width: found.mask.width, height: found.mask.height, pixelAspect: found.mask.pixelAspect } : { width: video.videoWidth, height: video.videoHeight, pixelAspect: 1 };
  colours.keep(objects.map((o) => o.id));
  const drawn = byId("masks").checked;
  const place = draw(canvas, { image: video, objects, size }, { masks: drawn, ratio, view, colours });
  if (drawn) drawLabels(canvas.getContext("2d", { alpha: false }), objects.filter((o) => o.area > 0), place, ratio, colours);
  const time = current.start + 1000 * at;
  seek.value = (time - span.from) / 1000;
  setText(byId("time"), clock(new Date(time)));
  canvas.dataset.objects = drawn ? objects.filter((o) => o.area > 0).length : 0;
  canvas.dataset.at = at.toFixed(3);
  if (!video.paused && time >= span.to) video.pause();
}

// watch paints each picture that the video shows.
function watch() {
  if (!video.requestVideoFrameCallback) {
    paint(video.currentTime);
    requestAnimationFrame(watch);
    return;
  }
  video.requestVideoFrameCallback((_, { mediaTime }) => {
    paint(mediaTime);
    watch();
  });
}

function told() {
  setText(byId("play"), video.paused || stilling ? "Play" : "Pause");
}

byId("play").addEventListener("click", () => {
  if (!video.paused && !stilling) {
    wanted.play = false;
    return video.pause();
  }
  const ended = current.start + 1000 * video.currentTime >= span.to - 50;
  open(ended ? span.from : current.start + 1000 * video.currentTime, true);
});
seek.addEventListener("input", () => open(span.from + 1000 * seek.value, !video.paused));
byId("masks").addEventListener("change", () => paint(Number(canvas.dataset.at ?? 0)));
video.addEventListener("play", told);
video.addEventListener("pause", told);
for (const name of ["loadeddata", "canplay", "seeked", "pause"]) video.addEventListener(name, () => paint(video.currentTime)); // watch hears of none while it stands
video.addEventListener("ended", () => {
  const next = segments[segments.indexOf(current) + 1];
  if (next && next.start < span.to) open(next.start, true);
});
video.addEventListener("error", () => {
  if (current) fault("This browser does not play it, which may be as it is H.265. It can be saved.");
});
window.addEventListener("resize", () => paint(Number(canvas.dataset.at ?? 0)));

// go shows what the form chooses.
function go(query) {
  history.pushState(null, "", `?${new URLSearchParams(query)}`);
  fill();
  show({ play: Boolean(query.from) });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const query = { camera: form.elements.camera.value };
  for (const name of ["from", "to"]) if (form.elements[name].value) query[name] = new Date(form.elements[name].value).toISOString();
  go(query);
});
byId("newest").addEventListener("click", () => go({ camera: form.elements.camera.value }));
window.addEventListener("popstate", () => {
  fill();
  show();
});

await api.cameras().then(({ cameras }) => form.elements.camera.append(...cameras.map(({ name }) => new Option(name, name)))).catch(() => {}); // what is wrong is told by what follows
fill();
watch();
show();
