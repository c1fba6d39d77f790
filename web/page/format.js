// Figures as people read them. A dash stands for "not known (yet)".

export const unknown = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export function count(n) {
  return Number.isFinite(n) ? whole.format(n) : unknown;
}

export function rate(n) {
  return Number.isFinite(n) ? tenth.format(n) : unknown;
}

export function percent(part, all) {
  return all > 0 ? `${tenth.format((100 * part) / all)} %` : unknown;
}

export function milliseconds(ms) {
  if (!Number.isFinite(ms)) return unknown;
  if (ms < 9995) return `${whole.format(Math.max(0, ms))} ms`;
  return ms < 60000 ? `${tenth.format(ms / 1000)} s` : span(ms);
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

// clock is the local time of day, with the date when it is not today.
export function clock(date, now = new Date()) {
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return date.toDateString() === now.toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

// fieldTime is a time as a field of a form has it, in local time; empty if it is none.
export function fieldTime(time) {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - 60000 * at.getTimezoneOffset()).toISOString().slice(0, 19);
}

// codecName is that of a video codec, of which ONVIF leaves out the dot.
export function codecName(name) {
  return name.replace(/^H26(?=[45]$)/, "H.26");
}
