// The dialog that adds a camera, and changes, pauses and removes one that was added.
import * as api from "./api.js";
import { setText } from "./dom.js";
import { codecName } from "./format.js";
import { FieldFaults } from "./fieldfaults.js";
import { Found } from "./found.js";

const reach = ["url", "user", "password", "transport", "fingerprint", "rotate", "aspect", "deinterlace"]; // what a test picture depends on
const published = /^whip:/i; // by others: segd cannot fetch a picture

export class CameraDialog {
  #parts;
  #faults;
  #found;
  #told;
  #camera = null; // the one that is changed, as segd lists it; null: one is added
  #before = {}; // what the fields said at first
  #tried = ""; // by what a picture was asked for last, and did not come
  #seen = ""; // by what one came
  #request = null;
  #asked = false; // whether it shall really be removed
  #named = false; // by hand
  #usual = ""; // what a camera marks by itself that does not say

  // parts: dialog, form, title, close, ways, urlField, hostField, nameField, find, findStatus,
  // foundBox, foundList, more, requiresField, picture, passing, status, faults, danger, test, pause, remove, submit, anyway, cancel.
  // told(what, name) is called with "added", "changed", "paused", "resumed" or "removed".
  constructor(parts, told) {
    this.#parts = parts;
    this.#told = told;
    this.#faults = new FieldFaults(parts.form.querySelectorAll("[data-field]"), parts.faults);
    this.#found = new Found({ find: parts.find, status: parts.findStatus, list: parts.foundList }, {
      where: () => this.#where(),
      chosen: (camera, profile) => this.#choose(camera, profile),
      failed: (problem) => this.#fail(problem),
    });
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#request) return;
      if (this.#wantsTest()) this.#test();
      else this.#save();
    });
    parts.form.addEventListener("input", (event) => this.#edited(event.target));
    parts.anyway.addEventListener("click", () => this.#save());
    parts.test.addEventListener("click", () => this.#test());
    parts.pause.addEventListener("click", () => this.#pause());
    parts.remove.addEventListener("click", () => this.#remove());
    for (const b of [parts.close, parts.cancel]) b.addEventListener("click", () => parts.dialog.close());
    parts.dialog.addEventListener("close", () => this.#leave());
  }

  get open() { return this.#parts.dialog.open; }
  get #fields() { return this.#parts.form.elements; }

  // add asks for a new camera; adding is how it is about adding cameras, as the API says, and fleet tells whether boxes
  // share the cameras.
  add({ kept, detect }, fleet) {
    this.#usual = detect.join(", ");
    this.#begin(null, { detect: this.#usual });
    this.#parts.requiresField.hidden = !fleet;
    this.#parts.passing.hidden = kept;
    this.#parts.dialog.showModal();
    this.#fields.url.focus();
  }

  // edit changes a camera that was added, which is as segd lists it.
  edit(camera, fleet, adding) {
    this.#usual = adding.detect.join(", ");
    const { name, url, kept, settings: { transport, fingerprint, rotate, aspect, deinterlace, detect, requires } = {} } = camera;
    this.#begin(camera, { name, url, transport, fingerprint, rotate, aspect, deinterlace, detect: detect?.off ? "" : detect?.classes?.join(", ") ?? this.#usual, requires: requires?.join(", ") });
    this.#parts.requiresField.hidden = !fleet;
    this.#parts.passing.hidden = kept;
    this.#parts.dialog.showModal();
    this.#fields.url.focus();
  }

  #begin(camera, values) {
    const p = this.#parts;
    this.#camera = camera;
    p.form.reset();
    for (const [name, value] of Object.entries(values)) if (value) this.#fields[name].value = value;
    this.#before = this.#values();
    this.#tried = "";
    this.#seen = camera ? this.#by() : ""; // what is there need not be tried again
    this.#asked = false;
    this.#named = camera !== null;
    this.#faults.clear();
    this.#found.forget();
    p.picture.hidden = true;
    p.more.open = false;
    setText(p.title, camera ? `Edit ${camera.name}` : "Add camera");
    setText(p.pause, camera?.paused ? "Resume" : "Pause");
    p.ways.hidden = p.nameField.hidden = camera !== null;
    p.danger.hidden = camera === null;
    this.#showWay();
    this.#show("");
  }

  #leave() {
    this.#request?.abort();
    this.#request = null;
    this.#found.forget();
    this.#fields.password.value = "";
  }

  #values() {
    return Object.fromEntries([...this.#fields].filter((e) => e.name && e.type !== "radio").map((e) => [e.name, e.value.trim()]));
  }

  // #by is what a test picture depends on, as one text.
  #by() {
    const values = this.#values();
    return JSON.stringify(reach.map((name) => values[name]));
  }

  #wantsTest() {
    return this.#seen !== this.#by() && !published.test(this.#fields.url.value.trim());
  }

  #where() {
    const { host, user, password } = this.#values();
    this.#faults.clear();
    return filled({ host, user, password });
  }

  // #showWay puts the fields in the order in which they are needed.
  #showWay() {
    const p = this.#parts;
    const find = this.#fields.way.value === "find";
    p.hostField.hidden = p.foundBox.hidden = !find;
    (find ? p.foundBox : p.ways).after(p.urlField);
  }

  #choose(camera, profile) {
    this.#fields.url.value = profile.url;
    if (!this.#named) this.#fields.name.value = nameOf(camera);
    this.#edited(this.#fields.url);
  }

  #edited(field) {
    if (field.name === "way") this.#showWay();
    if (field.name === "name") this.#named = field.value !== "";
    if (!reach.includes(field.name) && !["name", "detect", "requires"].includes(field.name)) return;
    this.#asked = false;
    if (reach.includes(field.name)) {
      this.#request?.abort(); // it is for what was there before
      this.#request = null;
      this.#parts.picture.hidden = true;
    }
    this.#faults.clear();
    this.#show("");
  }

  // #show brings the buttons up to date, and says what is being done.
  #show(status) {
    const p = this.#parts;
    const busy = this.#request !== null;
    const verb = this.#camera ? "Save" : "Add";
    setText(p.status, status);
    setText(p.submit, this.#wantsTest() ? "Test picture" : this.#camera ? "Save" : "Add camera");
    setText(p.anyway, `${verb} all the same`);
    setText(p.remove, this.#asked ? "Remove for good" : "Remove");
    p.submit.disabled = p.test.disabled = p.pause.disabled = p.remove.disabled = busy;
    p.test.hidden = this.#wantsTest() || published.test(this.#fields.url.value.trim()); // else the button below is for that
    p.anyway.hidden = busy || !this.#wantsTest() || this.#tried !== this.#by();
  }

  // #ask does something that segd may refuse, which is then said; it returns whether it
  // was done.
  async #ask(status, act) {
    const request = new AbortController();
    this.#request = request;
    this.#faults.clear();
    this.#show(status);
    try {
      await act(request.signal);
      return this.#request === request;
    } catch (problem) {
      if (this.#request === request) {
        this.#request = null;
        if (problem.noPicture) this.#tried = this.#by();
        this.#show("");
        this.#fail(problem);
      }
      return false;
    } finally {
      if (this.#request === request) this.#request = null;
    }
  }

  #fail(problem) {
    this.#faults.show(problem.faults ?? [], problem.message);
  }

  async #test() {
    const by = this.#by();
    const { name, url, user, password, transport, fingerprint, rotate, aspect, deinterlace } = this.#values();
    const p = this.#parts;
    p.picture.hidden = true;
    let shown = "";
    // A name that cannot be is told before anybody waits for a picture.
    const settings = filled({ url, user, password, transport, fingerprint, rotate: Number(rotate), aspect, deinterlace, ...(this.#camera ? { camera: this.#camera.name } : { name }) });
    const done = await this.#ask("Waiting for a picture, 15 s at most…", async (signal) => {
      const { width, height, codec, picture, hidden } = await api.testCamera(settings, signal);
      shown = `${width}×${height}${codec ? `, ${codecName(codec)}` : ""}${hidden ? "; privacy hides all of it, since nothing is detected in a test picture" : ""}`;
      const image = await createImageBitmap(new Blob([bytes(picture)], { type: "image/jpeg" }));
      p.picture.hidden = false;
      [p.picture.width, p.picture.height] = [image.width, image.height];
      p.picture.getContext("2d").drawImage(image, 0, 0);
      image.close();
    });
    if (!done) return;
    this.#seen = by;
    this.#show(`That is what it shows: ${shown}.`);
    p.picture.scrollIntoView({ block: "nearest" });
  }

  async #save() {
    const values = this.#values();
    const { name, host, detect, requires, rotate, ...rest } = values;
    const classes = listed(detect);
    const labels = listed(requires);
    if (this.#camera) {
      const changes = Object.fromEntries(reach.filter((k) => values[k] !== this.#before[k]).map((k) => [k, (k === "rotate" ? Number(rotate) : values[k]) || null]));
      if (detect !== this.#before.detect) changes.detect = classes.length > 0 ? { classes, off: null } : { off: true }; // who names some has them marked
      if (requires !== this.#before.requires) changes.requires = labels.length > 0 ? labels : null;
      if (await this.#ask("Saving…", () => api.changeCamera(name, changes))) this.#done("changed", name);
      return;
    }
    const settings = { name, ...filled(rest), ...(rotate !== "0" && { rotate: Number(rotate) }), ...(detect !== this.#usual && { detect: classes.length > 0 ? { classes } : { off: true } }), ...(labels.length > 0 && { requires: labels }) };
    if (await this.#ask("Adding it…", () => api.addCamera(settings))) this.#done("added", name);
  }

  async #pause() {
    const { name, paused } = this.#camera;
    const did = await this.#ask(paused ? "Resuming…" : "Pausing…", () => api.changeCamera(name, { paused: !paused }));
    if (did) this.#done(paused ? "resumed" : "paused", name);
  }

  // #remove has to be asked for twice.
  async #remove() {
    const { name } = this.#camera;
    if (!this.#asked) {
      this.#asked = true;
      this.#show(`${name} would be gone, with its objects, zones and counts. Press again to remove it.`);
      return;
    }
    if (await this.#ask("Removing…", () => api.removeCamera(name))) this.#done("removed", name);
  }

  #done(what, name) {
    this.#parts.dialog.close();
    this.#told(what, name);
  }
}

// listed are the parts of a text with commas.
function listed(text) {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}

// filled leaves out what says nothing.
function filled(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}

// bytes reads base64.
function bytes(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

// nameOf makes a name that segd takes of what a camera calls itself, if anything.
function nameOf({ name, hardware }) {
  return (name || hardware).normalize("NFKD").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "").toLowerCase().slice(0, 64);
}
