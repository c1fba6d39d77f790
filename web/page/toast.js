// One line about what was just done, and a way back.
import { element, setText } from "./dom.js";

const stays = 12000; // ms

export class Toast {
  #timer = 0;
  #box;
  #text;
  #button;
  #undo = null;
  #gone = null;

  constructor(box) {
    this.#box = box;
    this.#text = element("p", "toast-text");
    this.#button = element("button", "", "Undo");
    this.#button.type = "button";
    this.#button.addEventListener("click", () => this.undo());
    const close = element("button", "quiet", "×");
    close.type = "button";
    close.setAttribute("aria-label", "Dismiss");
    close.addEventListener("click", () => this.hide());
    box.append(this.#text, this.#button, close);
    // Whoever is about to press the button is not hurried.
    for (const type of ["pointerenter", "focusin"]) box.addEventListener(type, () => clearTimeout(this.#timer));
    for (const type of ["pointerleave", "focusout"]) box.addEventListener(type, () => this.#wait());
  }

  // show tells text. undo, if given, takes it back; gone is called when that is no
  // longer offered.
  show(text, { undo = null, gone = null, fault = false } = {}) {
    this.hide();
    this.#undo = undo;
    this.#gone = gone;
    this.#box.dataset.fault = String(fault);
    this.#button.hidden = !undo;
    this.#box.hidden = false;
    setText(this.#text, text);
    this.#wait();
  }

  // warn tells of a fault too, beside a way back that is still offered, and once.
  warn(text) {
    if (!this.#undo) return this.show(text, { fault: true });
    if (this.#text.textContent.includes(text)) return;
    this.#box.dataset.fault = "true";
    setText(this.#text, `${this.#text.textContent} ${text}`);
    this.#wait();
  }

  async undo() {
    const undo = this.#undo;
    const gone = this.#gone; // what it needs is kept until it is done, whatever is told meanwhile
    if (!undo) return;
    this.#undo = this.#gone = null;
    this.#button.hidden = true;
    setText(this.#text, "Undoing…");
    clearTimeout(this.#timer);
    try {
      const done = await undo();
      this.show(done);
    } catch (error) {
      this.show(`That could not be undone: ${error.message}`, { fault: true });
    } finally {
      gone?.();
    }
  }

  hide() {
    clearTimeout(this.#timer);
    this.#box.hidden = true;
    this.#undo = null;
    const gone = this.#gone;
    this.#gone = null;
    gone?.();
  }

  #wait() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hide(), stays);
  }
}
