// What leads to adding cameras, and to what can be done with those that were added.
import * as api from "./api.js";
import { CameraDialog } from "./cameradialog.js";

const became = { added: "is added", changed: "is changed", paused: "is paused", resumed: "goes on", removed: "is removed" };

export class Cameras {
  #parts;
  #dialog;
  #stage;
  #toast;
  #look;
  #fleet = false; // whether boxes share the cameras
  #adding = null; // how it is about adding cameras, as the API says; null: there is no such thing
  #readOnly = true; // who looks may change nothing

  // parts: add, first, edit, configured, resume, and those of the dialog. look() asks segd for
  // the cameras there are.
  constructor(parts, dialogParts, { stage, toast, look }) {
    this.#parts = parts;
    this.#dialog = new CameraDialog(dialogParts, (what, name) => this.#changed(what, name));
    this.#stage = stage;
    this.#toast = toast;
    this.#look = look;
    for (const b of [parts.add, parts.first]) b.addEventListener("click", () => this.add());
    parts.edit.addEventListener("click", () => this.#dialog.edit(stage.feed.info, this.#fleet, this.#adding));
    parts.resume.addEventListener("click", () => this.#resume());
  }

  // open tells whether the dialog is.
  get open() { return this.#dialog.open; }

  // arrange heeds a list of the API's.
  arrange({ access, box = "", adding = null, cameras }) {
    const p = this.#parts;
    this.#fleet = box !== "";
    this.#adding = adding;
    this.#readOnly = access === "viewer";
    p.add.hidden = this.#readOnly || !adding;
    p.first.hidden = p.add.hidden || adding.fault !== "" || cameras.length > 0;
    if (cameras.length === 0) p.resume.hidden = true;
  }

  // show offers what can be done with the camera that is seen.
  show({ source, paused }) {
    const p = this.#parts;
    p.configured.hidden = source !== "file";
    p.edit.hidden = source !== "added";
    p.resume.hidden = source !== "added" || !paused;
  }

  // how says how the first camera is added, or why none can be.
  get how() {
    if (!this.#adding) return "Add one to the configuration and reload it.";
    if (this.#adding.fault) return `None can be added: ${this.#adding.fault}`;
    if (this.#readOnly) return "Who signs in with the operator's token can add one.";
    return "Add one by its URL, or have segd look for cameras on the network.";
  }

  // add asks for a new camera.
  add() {
    if (this.#readOnly || !this.#adding) return;
    if (this.#adding.fault) return this.#toast.show(`No camera can be added: ${this.#adding.fault}`, { fault: true });
    if (document.fullscreenElement) document.exitFullscreen();
    this.#dialog.add(this.#adding, this.#fleet);
  }

  async #resume() {
    const { camera } = this.#stage.feed;
    try {
      await api.changeCamera(camera, { paused: false });
      await this.#changed("resumed", camera);
    } catch (problem) {
      this.#toast.show(`${camera} could not be resumed: ${problem.message}`, { fault: true });
    }
  }

  // #changed shows what became of a camera without waiting for the next look.
  async #changed(what, name) {
    await this.#look();
    if (what === "added") location.hash = encodeURIComponent(name);
    this.#toast.show(`${name} ${became[what]}.`);
  }
}
