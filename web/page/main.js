// Wires feeds to views. One socket a camera feeds its tile, and, when chosen, the large
// picture too.
import * as api from "./api.js";
import { Actions } from "./actions.js";
import { Alerts } from "./alerts.js";
import { Boxes } from "./boxes.js";
import { Cameras } from "./cameras.js";
import { origin, place } from "./fleet.js";
import { EventList } from "./events.js";
import { Figures } from "./figures.js";
import { Feed } from "./live.js";
import { LeftOut } from "./leftout.js";
import { Marking } from "./marking.js";
import { warning } from "./message.js";
import { MarkPanel } from "./markpanel.js";
import { ObjectList } from "./objects.js";
import { Stage } from "./stage.js";
import { Toast } from "./toast.js";
import { Wall } from "./wall.js";
import { ZoneList, ZonePanel } from "./zonepanel.js";
import { Zoning } from "./zoning.js";
import { setText } from "./dom.js";
import { able } from "./video.js";

const listEvery = 5000; // ms between looks at the list of cameras
const refreshEvery = 250; // ms between updates of figures and lists: faster cannot be read
const zoomStep = 1.5;
const videoKey = "segd.video"; // where a browser remembers that it is wanted

const byId = (id) => document.getElementById(id);
const announce = (text) => setText(byId("announce"), text);

const stage = new Stage({
  box: byId("picture"), canvas: byId("canvas"), name: byId("camera"), state: byId("state"),
  veil: byId("veil"), title: byId("veil-title"), text: byId("veil-text"),
  behind: byId("behind"),
});
const toast = new Toast(byId("toast"));
const marking = new Marking({ stage, toast, changed: () => showMarking() });
const panel = new MarkPanel(marking, {
  form: byId("marking"), toolbar: byId("toolbar"), title: byId("marking-title"), targets: byId("targets"),
  fresh: byId("fresh"), name: byId("mark-name"), status: byId("mark-status"), faults: byId("mark-faults"),
  accept: byId("accept"), cancel: byId("cancel"), judge: byId("judge"), truths: byId("truths"), right: byId("right"), absent: byId("absent"), tools: [...document.querySelectorAll("[data-tool]")],
  brush: byId("brush"), brushSize: byId("brush-size"), brushLabel: byId("brush-label"),
  undo: byId("undo"), redo: byId("redo"), close: byId("close-shape"),
});
const zoning = new Zoning({ stage, toast, changed: () => showZoning() });
const zonePanel = new ZonePanel(zoning, {
  form: byId("zoning"), title: byId("zoning-title"), name: byId("zone-name"), status: byId("zone-status"), faults: byId("zone-faults"),
  turn: byId("turn-line"), save: byId("zone-save"), cancel: byId("zone-cancel"), close: byId("close-zone"),
});
const zoneList = new ZoneList({
  list: byId("zone-list"), empty: byId("zone-empty"), keep: byId("zone-keep"), yaml: byId("zone-yaml"), copy: byId("copy-yaml"),
}, (kind, name) => zoning.remove(kind, name));
const actions = new Actions({ stage, toast });
const objects = new ObjectList({
  list: byId("object-list"), empty: byId("object-empty"), total: byId("object-count"), announce,
  act: {
    keep: (id) => actions.keep(id),
    correct: (id) => mark(id),
    rename: (id, from, to) => actions.rename(id, from, to),
    remove: (id) => actions.remove(id),
    point: (id) => point(id),
  },
});
const figures = new Figures(byId("figures"));
const events = new EventList({ list: byId("event-list"), empty: byId("event-empty"), total: byId("event-count"), history: byId("history-link") });
const alerts = new Alerts({ section: byId("alerts"), list: byId("alert-list"), note: byId("alert-note") });
const leftOut = new LeftOut({ list: byId("left-out-list"), total: byId("left-out-count"), none: byId("left-out-none") });
const wall = new Wall({ section: byId("wall"), list: byId("tiles") });
const feeds = new Map();
let cores = 0; // of the machine
let video = rememberedVideo(); // whether the large picture comes as video
let usual; // the camera that is shown while the address names none: the first that was up
const cameras = new Cameras({
  add: byId("add-camera"), first: byId("add-first"), edit: byId("edit-camera"), configured: byId("configured"), resume: byId("resume"),
}, {
  dialog: byId("camera-dialog"), form: byId("camera-form"), title: byId("camera-dialog-title"), close: byId("camera-close"),
  ways: byId("camera-ways"), urlField: byId("camera-url-field"), hostField: byId("camera-host-field"), nameField: byId("camera-name-field"),
  find: byId("camera-find"), findStatus: byId("camera-find-status"), foundBox: byId("camera-found"), foundList: byId("camera-found-list"),
  more: byId("camera-more"), requiresField: byId("camera-requires-field"), picture: byId("camera-picture"), passing: byId("camera-passing"), status: byId("camera-status"), faults: byId("camera-faults"),
  danger: byId("camera-danger"), test: byId("camera-test"), pause: byId("camera-pause"), remove: byId("camera-remove"),
  submit: byId("camera-submit"), anyway: byId("camera-anyway"), cancel: byId("camera-cancel"),
}, { stage, toast, look: () => look() });
const boxes = new Boxes({
  section: byId("boxes"), panel: byId("boxes-panel"), summary: byId("boxes-summary"), sum: byId("boxes-sum"), fault: byId("boxes-fault"),
  list: byId("box-list"), unplaced: byId("unplaced"), unplacedList: byId("unplaced-list"), key: byId("boxes-key"),
}, {
  dialog: byId("box-dialog"), form: byId("box-form"), title: byId("box-dialog-title"), close: byId("box-close"), text: byId("box-dialog-text"),
  field: byId("box-to-field"), to: byId("box-to"), status: byId("box-dialog-status"), faults: byId("box-dialog-faults"),
  submit: byId("box-submit"), cancel: byId("box-cancel"),
}, { toast, changed: () => settle() });

function onFeed(feed, what, event) {
  if (what === "frame") {
    wall.paint(feed, stage.masks);
    marking.follow(feed);
    if (feed === stage.feed) showFrame(feed);
  } else if (what === "link") {
    refresh();
  } else if (what === "gone") {
    look();
  } else if (what === "event") {
    events.add(feed, event);
    if (event.kind !== "EVENT_KIND_OBJECT_NOT_FOLLOWED") return;
    const camera = feed === stage.feed ? "" : `${feed.camera}: `;
    toast.warn(`${camera}${warning(event.objectLabel || `Object ${event.objectId}`, event.message)}`);
  }
}

function showFrame(feed) {
  if (!stage.frozen) stage.paint();
  document.body.dataset.frames = feed.shown;
  document.body.dataset.sequence = feed.frame.mask.sequence;
  document.body.dataset.pictures = feed.frame.video ? "video" : "jpeg";
  document.body.dataset.objects = feed.frame.objects.filter((o) => o.state === "visible" && o.loops.length > 0).length;
}

function refresh() {
  for (const feed of feeds.values()) wall.refresh(feed, stage.masks);
  if (!stage.feed) return;
  const live = stage.refresh({ cores, cameras: feeds.size });
  const { frame, info } = stage.feed;
  byId("mark").disabled = !frame?.whole || info.paused;
  byId("draw-zone").disabled = byId("draw-line").disabled = !frame || info.paused;
  objects.show(stage.feed, live);
  figures.show(stage.feed, live);
  events.show(stage.feed);
  leftOut.show(stage.feed);
  zoneList.show(stage.feed);
  cameras.show(stage.feed.info);
  showPlace(stage.feed.place);
}

// point makes an object stand out in the picture and in the list.
function point(id) {
  if (id === stage.pointed) return;
  stage.point(id);
  stage.canvas.style.cursor = id ? "pointer" : "";
  objects.point(id);
}

// showPlace says which box runs the camera that is seen.
function showPlace(at) {
  const node = byId("camera-box");
  node.hidden = !at?.box; // where none does there is no picture, but the reason
  setText(node, place(at));
  node.title = at ? origin(at) : "";
}

// settle notes which box runs each camera.
function settle() {
  for (const feed of feeds.values()) {
    const before = feed.place;
    feed.place = boxes.of(feed.camera);
    const now = feed.place?.box;
    if (feed === stage.feed && before && now && before.box !== now) announce(`Box ${now} runs ${feed.camera} now.`);
  }
  refresh();
}

// learn asks what only the box knows that runs a camera, if that is another one.
async function learn(feed) {
  if (!boxes.elsewhere(feed.camera)) return;
  const info = await api.camera(feed.camera).catch(() => null); // it may be on its way
  if (!info) return;
  feed.layout = { zones: info.zones, lines: info.lines };
  if (info.width && info.height) feed.size = { width: info.width, height: info.height };
}

// mayDraw tells whether anything comes of drawing: a paused camera's picture is an old one.
const mayDraw = () => !objects.readOnly && !stage.feed?.info.paused;

// mark freezes the picture; id is the object to correct, 0 a new one. Of video, it is the next JPEG that is
// frozen, or, if none comes within 2 s, the picture that is seen.
async function mark(id = 0) {
  const { feed } = stage;
  if (!mayDraw()) return;
  if (feed?.frame?.video) await feed.still();
  if (feed !== stage.feed || !mayDraw() || zoning.active || cameras.open || boxes.open) return; // it may have changed
  if (document.fullscreenElement) document.exitFullscreen();
  marking.start(id);
  byId("picture").scrollIntoView({ block: "nearest" });
}

function showMarking() {
  const ended = document.body.dataset.mode === "marking" && !marking.active;
  panel.show();
  wall.section.inert = boxes.section.inert = marking.active; // what was drawn must not be lost by a slip
  if (ended) byId("mark").focus({ preventScroll: true });
}

// drawZone draws a zone or a line on the live picture.
function drawZone(kind) {
  if (!mayDraw()) return;
  if (document.fullscreenElement) document.exitFullscreen();
  zoning.start(kind);
  byId("picture").scrollIntoView({ block: "nearest" });
}

function showZoning() {
  const ended = document.body.dataset.mode === "zoning" && !zoning.active;
  zonePanel.show();
  wall.section.inert = boxes.section.inert = zoning.active;
  if (!ended) return;
  refresh(); // the list has what was drawn
  byId("draw-zone").focus({ preventScroll: true });
}

// wanted is the camera the address names; camera names need no escape, so one
// that cannot be read names none.
function wanted() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

function choose() {
  if (!feeds.has(usual)) usual = [...feeds.values()].find((f) => f.info.status?.up)?.camera ?? feeds.keys().next().value;
  const feed = feeds.get(wanted()) ?? feeds.get(usual);
  if (!feed || feed === stage.feed) return;
  marking.leave();
  zoning.leave();
  for (const other of feeds.values()) other.setLarge(other === feed);
  stage.select(feed);
  wall.select(feed.camera);
  learn(feed);
  refresh();
}

// step chooses the next or previous camera.
function step(by) {
  const names = [...feeds.keys()];
  if (names.length < 2) return;
  const at = names.indexOf(stage.feed?.camera);
  location.hash = encodeURIComponent(names[(at + by + names.length) % names.length]);
}

function arrange(list) {
  const names = list.map((c) => c.name);
  for (const [name, feed] of feeds) {
    if (!names.includes(name)) {
      if (stage.feed === feed) {
        marking.leave();
        zoning.leave();
        stage.feed = null;
      }
      feed.stop();
      feeds.delete(name);
    }
  }
  for (const info of list) {
    const { name, width, height, zones, lines } = info;
    if (!feeds.has(name)) {
      feeds.set(name, new Feed(name, onFeed));
      feeds.get(name).setVideo(video);
    }
    const feed = feeds.get(name);
    feed.info = info;
    if (info.paused || info.fault) feed.stop();
    if (width && height) feed.size = { width, height };
    feed.place = boxes.of(name);
    if (!boxes.elsewhere(name)) feed.layout = { zones, lines };
  }
  wall.arrange(names);
  byId("camera-keys").hidden = names.length < 2;
  document.body.dataset.cameras = names.length;
  if (names.length === 0) {
    stage.clear();
    showEmpty("No camera yet", cameras.how);
  }
  choose();
  if (!document.hidden) for (const feed of feeds.values()) feed.start();
}

function showEmpty(title, text) {
  setText(byId("veil-title"), title);
  setText(byId("veil-text"), text);
}

// setAccess takes away what a viewer's token may not do.
function setAccess(access) {
  document.body.dataset.access = access;
  objects.readOnly = access === "viewer";
  byId("read-only").hidden = !objects.readOnly;
  byId("mark").hidden = objects.readOnly;
  byId("mark-key").hidden = byId("zone-key").hidden = objects.readOnly;
}

let next = 0; // the look that comes

async function look() {
  clearTimeout(next);
  try {
    const list = await api.cameras();
    setText(byId("version"), list.version ? `segd ${list.version}` : "");
    setAccess(list.access);
    cores = list.cores;
    cameras.arrange(list);
    alerts.arrange(list);
    await boxes.arrange(list);
    arrange(list.cameras);
    if (stage.feed) learn(stage.feed);
  } catch (problem) {
    if (feeds.size === 0) showEmpty("No connection to segd", `${problem.message} Trying again.`);
  } finally {
    document.body.toggleAttribute("data-ready", true); // until here the layout was not known
    clearTimeout(next); // two may have been on their way
    next = setTimeout(look, listEvery);
  }
}

function toggleMasks() {
  stage.masks = !stage.masks;
  byId("masks").setAttribute("aria-pressed", String(stage.masks));
  stage.paint();
  for (const feed of feeds.values()) if (feed.frame) wall.paint(feed, stage.masks);
}

function toggleRegions() {
  stage.regions = !stage.regions;
  byId("regions").setAttribute("aria-pressed", String(stage.regions));
  stage.paint();
}

// setVideo has the large picture come as video, or as JPEGs, which this browser remembers.
function setVideo(on) {
  video = on;
  byId("video").setAttribute("aria-pressed", String(on));
  for (const feed of feeds.values()) feed.setVideo(on);
  try {
    localStorage.setItem(videoKey, on ? "on" : "off");
  } catch {} // it may keep nothing
}

function toggleVideo() {
  if (able()) setVideo(!video);
}

// rememberedVideo is what this browser remembers, or what it can.
function rememberedVideo() {
  try {
    return able() && localStorage.getItem(videoKey) !== "off";
  } catch {
    return able();
  }
}

function toggleFull() {
  if (document.fullscreenElement) document.exitFullscreen();
  else byId("picture").requestFullscreen?.();
}

function fit() {
  stage.view.reset();
  stage.paint();
}

const liveKeys = { n: () => mark(), a: () => cameras.add(), z: () => drawZone("zone"), l: () => drawZone("line"), m: toggleMasks, r: toggleRegions, v: toggleVideo, f: toggleFull, b: () => boxes.show(), u: () => toast.undo(), "[": () => step(-1), "]": () => step(1) };
const thicker = (by) => marking.setWidth(marking.pen.width + by);
const markingKeys = {
  o: () => marking.setTool("object"), b: () => marking.setTool("background"), x: () => marking.setTool("box"),
  p: () => marking.setTool("polygon"), r: () => marking.setTool("paint"), e: () => marking.setTool("erase"),
  z: () => marking.undo(), y: () => marking.redo(), "[": () => thicker(-2), "]": () => thicker(2),
  "+": () => zoom(zoomStep), "-": () => zoom(1 / zoomStep), 0: fit,
  escape: () => marking.cancel(),
  enter: () => (marking.pen.canClose ? marking.closeShape() : marking.accept()),
};
const zoningKeys = {
  "+": () => zoom(zoomStep), "-": () => zoom(1 / zoomStep), 0: fit,
  backspace: () => zoning.back(), escape: () => zoning.leave(),
  enter: () => (zoning.canClose ? zoning.close() : zoning.save()),
};

// keys are those of what is being done.
function keys() {
  if (marking.active) return markingKeys;
  return zoning.active ? zoningKeys : liveKeys;
}

// zoom enlarges the picture that is drawn on.
function zoom(factor) {
  (marking.active ? marking : zoning).pointer.zoom(factor);
}

function onKey(event) {
  if (cameras.open || boxes.open) return; // they have keys of their own
  const key = event.key.toLowerCase();
  const inField = event.target.closest("input:not([type=radio], [type=range]), textarea, select");
  if (marking.active && (event.ctrlKey || event.metaKey) && key === "z" && !inField) {
    event.preventDefault();
    return event.shiftKey ? marking.redo() : marking.undo();
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (inField && !((marking.active || zoning.active) && key === "escape")) return;
  if (key === "enter" && event.target.closest("button, a, input")) return; // it has its own meaning there
  const act = keys()[key];
  if (!act) return;
  event.preventDefault();
  act();
}

// A hidden tab shows nothing, so it takes nothing: the server can rest too.
function onVisibility() {
  for (const feed of feeds.values()) document.hidden ? feed.stop() : feed.start();
}

stage.canvas.addEventListener("pointermove", (event) => point(stage.at(event)));
stage.canvas.addEventListener("pointerleave", () => point(0));
stage.canvas.addEventListener("click", (event) => objects.point(stage.at(event), true));
byId("mark").addEventListener("click", () => mark());
byId("masks").addEventListener("click", toggleMasks);
byId("regions").addEventListener("click", toggleRegions);
byId("video").addEventListener("click", toggleVideo);
byId("full").addEventListener("click", toggleFull);
byId("draw-zone").addEventListener("click", () => drawZone("zone"));
byId("draw-line").addEventListener("click", () => drawZone("line"));
byId("zoom-in").addEventListener("click", () => zoom(zoomStep));
byId("zoom-out").addEventListener("click", () => zoom(1 / zoomStep));
byId("zoom-fit").addEventListener("click", fit);
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", onVisibility);
window.addEventListener("hashchange", choose);
window.addEventListener("pagehide", () => marking.letGo());
byId("full").hidden = !document.fullscreenEnabled;
byId("video").hidden = byId("video-key").hidden = !able();
if (video) setVideo(true);
setInterval(refresh, refreshEvery);
look();
