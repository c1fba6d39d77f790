// The dialog that asks before a box is drained, and which box a camera shall move to.
import { element, setText } from "./dom.js";
import { FieldFaults } from "./fieldfaults.js";

export class BoxDialog {
  #parts;
  #faults;
  #act = null;
  #asking = 0; // which asking it is: what was asked before is not told of any more

  // parts: dialog, form, title, close, text, field, to, status, faults, submit, cancel.
  constructor(parts) {
    this.#parts = parts;
    this.#faults = new FieldFaults(parts.form.querySelectorAll("[data-field]"), parts.faults);
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    for (const b of [parts.close, parts.cancel]) b.addEventListener("click", () => parts.dialog.close());
    parts.dialog.addEventListener("close", () => this.#asking++);
  }

  get open() { return this.#parts.dialog.open; }

  // ask shows title and text, and has act(box) do it when the button called verb is pressed; boxes,
  // if any, are [name, words] of those to choose from. doing is what is said meanwhile.
  ask({ title, text, verb, doing, boxes = [], act }) {
    const p = this.#parts;
    this.#act = { doing, act };
    this.#faults.clear();
    setText(p.title, title);
    setText(p.text, text);
    setText(p.submit, verb);
    setText(p.status, "");
    p.submit.disabled = false;
    p.field.hidden = boxes.length === 0;
    p.to.replaceChildren(...boxes.map(([name, words]) => Object.assign(element("option", "", words), { value: name })));
    p.dialog.showModal();
    (boxes.length > 0 ? p.to : p.submit).focus();
  }

  async #send() {
    const p = this.#parts;
    if (p.submit.disabled) return;
    const asking = this.#asking;
    p.submit.disabled = true;
    this.#faults.clear();
    setText(p.status, this.#act.doing);
    try {
      await this.#act.act(p.to.value);
      if (asking === this.#asking) p.dialog.close();
    } catch (problem) {
      if (asking !== this.#asking) return;
      setText(p.status, "");
      this.#faults.show(p.field.hidden ? [] : [{ at: "box", detail: problem.message }], problem.message);
      p.submit.disabled = false;
    }
  }
}
