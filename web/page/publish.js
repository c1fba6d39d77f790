// Sends the visitor's camera to the segd camera that the address names.
import { element, setText } from "./dom.js";
import { Publisher, Refused } from "./whip.js";

const refreshEvery = 1000; // ms between looks at what is sent
const firstRetry = 1000; // ms
const lastRetry = 10000; // ms
const patience = 4000; // ms an interrupted connection may take to come back
const wanted = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 25 } };

const byId = (id) => document.getElementById(id);
const preview = byId("preview");
const deviceList = byId("device");

const states = {
  idle: { pill: "Not sending", button: "Start" },
  asking: { pill: "Asking for the camera", button: "Stop" },
  connecting: { pill: "Connecting", button: "Stop" },
  live: { pill: "Sending", button: "Stop" },
  lost: { pill: "Interrupted", button: "Stop" },
  down: { pill: "Not sending", button: "Start again" },
};

let state = "idle";
let publisher = null;
let media = null;
let before = null; // stats at the last look
let token = "";
let retry = firstRetry; // ms until the next attempt
let timer = 0; // of the next attempt, or of giving up on one that was interrupted

function cameraName() {
  try {
    return decodeURIComponent(location.pathname.split("/").at(-1));
  } catch {
    return "";
  }
}
const camera = cameraName();

// show brings the page to a state; title and text go over the picture.
function show(next, title = "", text = "") {
  state = next;
  document.body.dataset.state = next;
  byId("state").dataset.state = next;
  setText(byId("state"), states[next].pill);
  setText(byId("toggle"), states[next].button);
  byId("veil").hidden = !title;
  byId("veil").dataset.kind = next;
  setText(byId("veil-title"), title);
  setText(byId("veil-text"), text);
}

async function start() {
  if (!navigator.mediaDevices) {
    show("down", "This page may not use a camera",
      "Browsers lend cameras only to pages that come over https, or from localhost.");
    return;
  }
  release();
  byId("token-form").hidden = true;
  show("asking", "Waiting for the camera", "Your browser may ask whether this page may use it.");
  const mine = newPublisher();
  try {
    const device = deviceList.value ? { deviceId: { exact: deviceList.value } } : {};
    const got = await navigator.mediaDevices.getUserMedia({ video: { ...wanted, ...device }, audio: false });
    if (publisher !== mine) return got.getTracks().forEach((t) => t.stop()); // stopped meanwhile
    media = got;
    const [track] = media.getVideoTracks();
    track.onended = () => fail("The camera is gone", "It was unplugged, or the browser took it away.");
    preview.srcObject = media;
    listDevices(track);
    show("connecting", "Connecting to segd");
    await mine.start(track);
  } catch (error) {
    if (publisher === mine) explain(error);
  }
}

function newPublisher() {
  const mine = new Publisher(camera, token, (s) => publisher === mine && onConnection(s));
  publisher = mine;
  return mine;
}

// again connects anew, with the camera that is open, until it works or cannot.
async function again() {
  clearTimeout(timer);
  const replaced = publisher?.stop();
  const mine = newPublisher();
  before = null;
  if (await replaced) {
    if (publisher === mine) fail("Another publisher took over", "Start again takes the camera back.");
    return;
  }
  if (publisher !== mine) return;
  try {
    await mine.start(media.getVideoTracks()[0]);
  } catch (error) {
    if (publisher !== mine) return;
    const passes = error instanceof TypeError || (error instanceof Refused && [409, 502, 503, 504].includes(error.status));
    if (!passes) return explain(error);
    later();
  }
}

// later tries again after a while.
function later() {
  show("lost", "The connection was lost", `Trying again in ${Math.round(retry / 1000)} s.`);
  clearTimeout(timer);
  timer = setTimeout(again, retry);
  retry = Math.min(2 * retry, lastRetry);
}

function stop() {
  release();
  show("idle", "Not sending", "Start sends what your camera shows to segd.");
}

function fail(title, text) {
  release();
  show("down", title, text);
}

// release gives the camera and the connection back.
function release() {
  clearTimeout(timer);
  retry = firstRetry;
  const last = publisher;
  publisher = null;
  last?.stop();
  media?.getTracks().forEach((t) => {
    t.onended = null;
    t.stop();
  });
  media = null;
  preview.srcObject = null;
  before = null;
  document.body.dataset.frames = "0";
}

function onConnection(s) {
  if (s === "connected") {
    clearTimeout(timer);
    retry = firstRetry;
    show("live");
  } else if (s === "disconnected") {
    show("lost", "Interrupted", "segd does not answer; waiting for it.");
    timer = setTimeout(again, patience);
  } else if (s === "failed" || s === "closed") {
    if (state === "connecting") {
      fail("No way for the pictures", "segd answered, but cannot be reached at its whip.addr, over UDP or TCP.");
    } else {
      later();
    }
  }
}

// explain says in words what went wrong.
function explain(error) {
  if (error instanceof Refused) return explainRefusal(error);
  const words = {
    NotAllowedError: ["This page may not use the camera", "Allow it, beside the address of the page, and start again."],
    NotFoundError: ["No camera was found", "Plug one in and start again."],
    OverconstrainedError: ["That camera is not there any more", "Choose another and start again."],
    NotReadableError: ["The camera cannot be read", "Another program may be using it."],
  }[error.name];
  if (words) return fail(...words);
  if (error instanceof TypeError) return fail("No connection to segd", "It does not answer. Start again once it runs.");
  fail("That did not work", error.message);
}

function explainRefusal({ status, message }) {
  switch (status) {
    case 401:
      fail(token ? "That token is wrong" : "A token is needed", "Enter the one for publishing, or segd's own.");
      byId("token-form").hidden = false;
      byId("token").focus();
      return;
    case 404:
      return fail("There is no such camera", message);
    case 409:
      return fail("The camera is busy", "Somebody else publishes to it. Start again when they have stopped.");
    case 503:
      return fail("segd is stopping", "Start again once it runs.");
  }
  fail(`segd refused (${status})`, message);
}

// listDevices offers the cameras, whose names are known once one was allowed.
async function listDevices(track) {
  const all = (await navigator.mediaDevices.enumerateDevices()).filter((d) => d.kind === "videoinput");
  const current = track.getSettings().deviceId;
  deviceList.replaceChildren(...all.map((d, i) => {
    const option = element("option", "", d.label || `Camera ${i + 1}`);
    option.value = d.deviceId;
    option.selected = d.deviceId === current;
    return option;
  }));
  byId("device-label").hidden = all.length < 2;
}

const values = new Map();
for (const [key, name] of [["size", "Size"], ["fps", "Frames/s"], ["rate", "Mbit/s"], ["trip", "Round trip"], ["again", "Sent again"]]) {
  const box = element("div", "figure");
  const value = element("dd", "number", "–");
  box.append(element("dt", "muted", name), value);
  byId("figures").append(box);
  values.set(key, value);
}

async function refresh() {
  const now = state === "live" || state === "lost" ? await publisher?.stats() : null;
  const seconds = now && before ? (now.at - before.at) / 1000 : 0;
  const text = {
    size: now?.width ? `${now.width}×${now.height}` : "–",
    fps: Number.isFinite(now?.fps) ? now.fps.toFixed(0) : "–",
    rate: seconds > 0 ? ((8 * (now.bytes - before.bytes)) / seconds / 1e6).toFixed(2) : "–",
    trip: Number.isFinite(now?.roundTrip) ? `${now.roundTrip.toFixed(0)} ms` : "–",
    again: now?.again === undefined ? "–" : String(now.again),
  };
  for (const [key, node] of values) setText(node, text[key]);
  document.body.dataset.frames = now?.frames ?? 0;
  before = now;
}

byId("toggle").addEventListener("click", () => (publisher ? stop() : start()));
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  start();
});
deviceList.addEventListener("change", () => publisher && start());
window.addEventListener("pagehide", stop);
setInterval(refresh, refreshEvery);
setText(byId("camera"), camera);
document.title = `Publish ${camera} · segd`;
stop();
document.body.toggleAttribute("data-ready", true);
