// The cameras that ONVIF finds, to choose one of them and one of its streams.
import * as api from "./api.js";
import { element, setText } from "./dom.js";
import { codecName, rate } from "./format.js";

export class Found {
  #parts;
  #chosen;
  #request = null;

  // parts: find, status, list. where() is what to ask by; chosen(camera, profile) is called
  // for the stream that was chosen, failed(problem) when nothing could be looked for.
  constructor(parts, { where, chosen, failed }) {
    this.#parts = parts;
    this.#chosen = chosen;
    parts.find.addEventListener("click", () => this.#look(where(), failed));
  }

  forget() {
    this.#request?.abort();
    this.#request = null;
    this.#parts.find.disabled = false;
    this.#parts.list.replaceChildren();
    this.#say("Whoever answers is sent a digest of user and password.");
  }

  async #look(where, failed) {
    this.forget();
    const request = new AbortController();
    this.#request = request;
    const p = this.#parts;
    p.find.disabled = true;
    this.#say("Looking for cameras…");
    try {
      const { cameras } = await api.findCameras(where, request.signal);
      if (this.#request !== request) return;
      this.#show(cameras);
    } catch (problem) {
      if (this.#request !== request) return;
      this.#say("");
      failed(problem);
    } finally {
      if (this.#request === request) {
        this.#request = null;
        p.find.disabled = false;
      }
    }
  }

  #show(cameras) {
    this.#parts.list.replaceChildren(...cameras.map((c) => this.#makeCamera(c)));
    if (cameras.length === 0) return this.#say("No camera answered. ONVIF may be switched off in it, or it is on another network: give its address.");
    this.#say(cameras.length === 1 ? "One camera found." : `${cameras.length} cameras found.`);
    if (cameras.length === 1) this.#parts.list.querySelector("input")?.click();
  }

  #say(text) {
    setText(this.#parts.status, text);
  }

  #makeCamera(camera) {
    const item = element("li", "found-camera");
    const profiles = camera.profiles.filter((p) => p.url);
    const words = element("span", "found-words");
    words.append(element("span", "found-name", camera.name || camera.address), element("span", "muted", about(camera)));
    if (profiles.length === 0) {
      item.append(words, element("p", "field-fault", why(camera)));
      return item;
    }
    const label = element("label", "found-head");
    const input = radio("found");
    const streams = element("ul", "streams");
    streams.hidden = true;
    streams.setAttribute("aria-label", `Streams of ${camera.name || camera.address}`);
    const group = `streams of ${camera.address}`;
    const best = profiles.find((p) => p.picked) ?? profiles[0];
    streams.append(...profiles.map((p) => this.#makeStream(camera, p, group, p === best)));
    input.addEventListener("change", () => {
      for (const other of this.#parts.list.querySelectorAll(".streams")) other.hidden = other !== streams;
      const at = [...streams.querySelectorAll("input")].findIndex((i) => i.checked);
      this.#chosen(camera, profiles[at]);
    });
    label.append(input, words);
    item.append(label, streams);
    return item;
  }

  #makeStream(camera, profile, group, checked) {
    const item = element("li", "");
    const label = element("label", "stream");
    const input = radio(group);
    input.checked = checked;
    input.addEventListener("change", () => this.#chosen(camera, profile));
    const words = element("span", "found-words");
    words.append(element("span", "", profile.name || "unnamed"), element("span", "muted number", figures(profile)));
    if (profile.picked) words.append(element("span", "stream-best", "suits segd best"));
    label.append(input, words);
    item.append(label);
    return item;
  }
}

function radio(name) {
  return Object.assign(element("input", ""), { type: "radio", name });
}

function about({ name, hardware, address }) {
  return [hardware, name && address].filter(Boolean).join(", ");
}

function why({ unauthorized, error }) {
  if (unauthorized) return "It tells its streams to users only: give user and password, and look again.";
  return error?.replace(/^onvif: /, "") || "It names no stream that segd can show.";
}

function figures({ encoding, width, height, fps }) {
  return [codecName(encoding), width && height ? `${width}×${height}` : "", fps ? `${rate(fps).replace(/\.0$/, "")}/s` : ""].filter(Boolean).join("  ");
}
