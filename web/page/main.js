// Wires feeds to views. One socket a camera feeds its tile and, when chosen,
// the large picture.
import { Figures } from "./figures.js";
import { Feed } from "./live.js";
import { ObjectList } from "./objects.js";
import { Stage } from "./stage.js";
import { Wall } from "./wall.js";
import { setText } from "./dom.js";

const listEvery = 5000; // ms between looks at the list of cameras
const refreshEvery = 250; // ms between updates of figures and lists: faster cannot be read

const byId = (id) => document.getElementById(id);
const announce = (text) => setText(byId("announce"), text);

const stage = new Stage({
  box: byId("picture"), canvas: byId("canvas"), name: byId("camera"), state: byId("state"),
  veil: byId("veil"), title: byId("veil-title"), text: byId("veil-text"),
});
const objects = new ObjectList({
  list: byId("object-list"), empty: byId("object-empty"), total: byId("object-count"), announce,
});
const figures = new Figures(byId("figures"));
const wall = new Wall({ section: byId("wall"), list: byId("tiles") });
const feeds = new Map();

function onFeed(feed, what) {
  if (what === "frame") {
    wall.paint(feed, stage.masks);
    if (feed === stage.feed) showFrame(feed);
  } else if (what === "link") {
    refresh();
  }
}

function showFrame(feed) {
  stage.paint();
  document.body.dataset.frames = feed.shown;
  document.body.dataset.objects = feed.frame.objects.filter((o) => o.state === "visible" && o.loops.length > 0).length;
}

function refresh() {
  for (const feed of feeds.values()) wall.refresh(feed);
  if (!stage.feed) return;
  const live = stage.refresh();
  objects.show(stage.feed.frame, live);
  figures.show(stage.feed, live);
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
  const feed = feeds.get(wanted()) ?? feeds.values().next().value;
  if (!feed || feed === stage.feed) return;
  stage.select(feed);
  wall.select(feed.camera);
  refresh();
}

// step chooses the next or previous camera.
function step(by) {
  const names = [...feeds.keys()];
  if (names.length < 2) return;
  const at = names.indexOf(stage.feed?.camera);
  location.hash = encodeURIComponent(names[(at + by + names.length) % names.length]);
}

function arrange(cameras) {
  const names = cameras.map((c) => c.name);
  for (const [name, feed] of feeds) {
    if (!names.includes(name)) {
      feed.stop();
      feeds.delete(name);
      if (stage.feed === feed) stage.feed = null;
    }
  }
  for (const { name, width, height } of cameras) {
    if (!feeds.has(name)) feeds.set(name, new Feed(name, onFeed));
    const feed = feeds.get(name);
    if (width && height) feed.size = { width, height };
    if (!document.hidden) feed.start();
  }
  wall.arrange(names);
  byId("camera-keys").hidden = names.length < 2;
  if (names.length === 0) showEmpty("No camera is configured", "Add one to the configuration and reload it.");
  choose();
}

function showEmpty(title, text) {
  setText(byId("veil-title"), title);
  setText(byId("veil-text"), text);
}

async function look() {
  try {
    const response = await fetch("/api/v1/cameras", { headers: { Accept: "application/json" } });
    if (response.status === 401) return location.assign("/login");
    if (!response.ok) throw new Error(`the list of cameras could not be read (${response.status})`);
    const list = await response.json();
    setText(byId("version"), list.version ? `segd ${list.version}` : "");
    arrange(list.cameras);
  } catch (error) {
    if (feeds.size === 0) showEmpty("No connection to segd", `${error.message}. Trying again.`);
  } finally {
    document.body.toggleAttribute("data-ready", true); // until here the layout was not known
    setTimeout(look, listEvery);
  }
}

function toggleMasks() {
  stage.masks = !stage.masks;
  byId("masks").setAttribute("aria-pressed", String(stage.masks));
  stage.paint();
  for (const feed of feeds.values()) if (feed.frame) wall.paint(feed, stage.masks);
}

function toggleFull() {
  if (document.fullscreenElement) document.exitFullscreen();
  else byId("picture").requestFullscreen?.();
}

const keys = { m: toggleMasks, f: toggleFull, "[": () => step(-1), "]": () => step(1) };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  keys[event.key.toLowerCase()]?.();
}

// A hidden tab shows nothing, so it takes nothing: the server can rest too.
function onVisibility() {
  for (const feed of feeds.values()) document.hidden ? feed.stop() : feed.start();
}

byId("masks").addEventListener("click", toggleMasks);
byId("full").addEventListener("click", toggleFull);
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", onVisibility);
window.addEventListener("hashchange", choose);
byId("full").hidden = !document.fullscreenEnabled;
setInterval(refresh, refreshEvery);
look();
