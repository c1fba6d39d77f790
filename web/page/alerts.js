// What Prometheus' alerts tell of segd, with what to do about each, where segd knows an Alertmanager.
import * as api from "./api.js";
import { element, setText } from "./dom.js";
import { clock } from "./format.js";

const every = 15000; // ms between looks

export class Alerts {
  #shown = "";
  #timer = 0;

  constructor({ section, list, note }) {
    Object.assign(this, { section, list, note });
  }

  // arrange begins to look, or ends it, as the list of cameras says.
  arrange({ alerts }) {
    if (Boolean(alerts) === Boolean(this.#timer)) return;
    if (alerts) {
      this.#timer = setInterval(() => this.#look(), every);
      this.#look();
    } else {
      clearInterval(this.#timer);
      this.#timer = 0;
      this.section.hidden = true;
    }
  }

  async #look() {
    if (document.hidden) return;
    try {
      const { alerts, more } = await api.alerts();
      this.#show(alerts, more > 0 ? `${more} more fire.` : "");
    } catch (problem) {
      this.#show([], `Which alerts fire is not known: ${problem.message}`);
    }
  }

  #show(alerts, note) {
    this.section.hidden = alerts.length === 0 && note === "";
    setText(this.note, note);
    const text = JSON.stringify(alerts);
    if (text === this.#shown) return; // what somebody has opened stays open
    this.#shown = text;
    this.list.replaceChildren(...alerts.map(entry));
  }
}

function entry({ severity, summary, name, description, since, runbook }) {
  const item = element("li", "alert");
  item.dataset.severity = severity;
  const details = element("details", "");
  const head = element("summary", "");
  head.append(element("span", "pill", severity), element("span", "alert-summary", summary || name), element("time", "number muted", `since ${clock(new Date(since))}`));
  details.append(head, element("p", "", description), element("p", "alert-runbook", runbook));
  item.append(details);
  return item;
}
