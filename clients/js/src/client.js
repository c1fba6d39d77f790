import { fromBinary, fromJson } from "@bufbuild/protobuf";
import { headers, NoRespondersError, PermissionViolationError, RequestError } from "@nats-io/nats-core";
import {
  AnnotatedSchema, EventSchema, MaskFrameSchema, ObjectListSchema, ObjectSchema, StatusSchema,
} from "./segd_pb.js";

const json = "application/json";
const protobuf = "application/x-protobuf";
const png = "image/png";
const statuses = "segd.v1.*.*.status"; // of every camera that a segd serves, once a second
const hearing = 1800; // ms for that
const queueLength = 256; // messages that wait for a loop which is slower than they come

/** segd did not do what it was asked. code is HTTP's: 400, 404, 409, 413, 429, 500, 504. */
export class Refused extends Error {
  /** @param {number} code @param {string} reason */
  constructor(code, reason) {
    super(`${reason} (${code})`);
    this.name = "Refused";
    this.code = code;
    this.reason = reason;
  }
}

/** No segd answers for the camera. */
export class NotServed extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "NotServed";
  }
}

/** The NATS server does not let this user ask, or subscribe. */
export class NotPermitted extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "NotPermitted";
  }
}

/**
 * Reads a message of a type, or throws.
 *
 * @template {import("@bufbuild/protobuf").DescMessage} D
 * @param {D} schema
 * @param {import("@nats-io/nats-core").Msg} msg
 */
function decode(schema, msg) {
  const [kind, parameters] = (msg.headers?.get("Content-Type") || protobuf).split(";");
  const name = parameters?.trim().replace(/^message=/, "");
  if (name && name !== schema.typeName) throw new TypeError(`it is a ${name}`);
  if (kind.trim() === json) return fromJson(schema, msg.json(), { ignoreUnknownFields: true });
  return fromBinary(schema, msg.data);
}

/**
 * What connect takes beside the URL, and what nats.js does.
 *
 * @typedef {object} Settings
 * @property {string} [site] of the segd; "*" subscribes to all sites, and asks none
 * @property {number} [timeout] for the answer to a request, in ms: 15000 unless given; segd itself takes up to 10000 for
 *   a frame
 * @property {(text: string) => void} [warn] is told what is left out; console.warn unless given
 */

/**
 * A connection to the NATS server of a segd; connect makes it.
 *
 * Subscriptions last until their loop is left. What comes while a loop is busy waits, up to 256 messages; what is
 * beyond that is lost and counted in dropped. Messages that cannot be read are left out, told and counted in bad.
 * A subscription to a camera that no segd serves waits for it, and warn is told so once a camera.
 */
export class Client {
  bad = 0;
  dropped = 0;
  #warn;
  /** @type {Set<string>} cameras that it was looked for who serves them */
  #looked = new Set();

  /** @param {import("@nats-io/nats-core").NatsConnection} connection @param {Settings} settings */
  constructor(connection, { site = "home", timeout = 15000, warn = console.warn }) {
    this.connection = connection;
    this.site = site;
    this.timeout = timeout;
    this.#warn = warn;
  }

  /** Every frame's masks, of a camera or of all. @param {string} [camera] */
  masks(camera = "*") {
    return this.#subscribe(camera, "mask", MaskFrameSchema);
  }

  /** Events as they happen. One may come twice: see docs/bus.md. @param {string} [camera] */
  events(camera = "*") {
    return this.#subscribe(camera, "event", EventSchema);
  }

  /** The status of a camera, or of all, once a second each. @param {string} [camera] */
  status(camera = "*") {
    return this.#subscribe(camera, "status", StatusSchema);
  }

  /**
   * @template {import("@bufbuild/protobuf").DescMessage} D
   * @param {string} camera @param {string} kind @param {D} schema
   */
  async *#subscribe(camera, kind, schema) {
    /** @type {import("@nats-io/nats-core").Msg[]} */
    const queue = [];
    /** @type {Error | null} */
    let failed = null;
    let ended = false;
    let wake = () => {};
    const subject = `segd.v1.${this.site}.${camera}.${kind}`;
    const subscription = this.connection.subscribe(subject, {
      callback: (error, msg) => {
        if (error instanceof PermissionViolationError) failed = new NotPermitted(`this NATS user may not subscribe to ${subject}`);
        else if (error) failed = error;
        else if (queue.length < queueLength) queue.push(msg);
        else this.#drop(msg.subject);
        wake();
      },
    });
    this.#look(camera, () => failed !== null);
    subscription.closed.then(() => {
      ended = true;
      wake();
    });
    try {
      for (;;) {
        for (let msg = queue.shift(); msg; msg = queue.shift()) {
          let message;
          try {
            message = decode(schema, msg);
          } catch (error) {
            this.bad++;
            this.#warn(`segd: ${msg.subject}: ${error instanceof Error ? error.message : error}`);
            continue;
          }
          yield message;
        }
        if (failed) throw failed;
        if (ended) {
          const lost = await this.connection.closed(); // no other end has a subscription, and it does not say why
          if (lost) throw lost;
          return;
        }
        await new Promise((resolve) => (wake = () => resolve(undefined)));
      }
    } finally {
      if (!this.connection.isClosed()) subscription.unsubscribe();
    }
  }

  /** Warns if there is no status of the camera, but where this user may not hear it. @param {string} camera @param {() => boolean} denied */
  #look(camera, denied) {
    if (this.#looked.has(camera)) return;
    this.#looked.add(camera);
    /** @type {Map<string, boolean>} by site/camera, whether it is what is looked for */
    const served = new Map();
    let deaf = false;
    const heard = this.connection.subscribe(statuses, {
      callback: (error, msg) => {
        if (error) {
          deaf = true;
          return;
        }
        const [site, name] = msg.subject.split(".").slice(2);
        served.set(`${site}/${name}`, ["*", site].includes(this.site) && ["*", name].includes(camera));
      },
    });
    const over = setTimeout(() => {
      if (this.connection.isClosed()) return;
      heard.unsubscribe();
      if (deaf || denied() || [...served.values()].includes(true)) return;
      const names = [...served.keys()].sort().join(", ") || "none";
      this.#warn(`segd: no segd of site ${this.site} serves camera ${camera}; served are (site/camera): ${names}; waiting for it`);
    }, hearing);
    heard.closed.then(() => clearTimeout(over));
  }

  /** @param {string} subject */
  #drop(subject) {
    this.dropped++;
    if ((this.dropped & (this.dropped - 1)) === 0) { // the 1st, 2nd, 4th, 8th …
      this.#warn(`segd: ${subject} comes faster than it is used: ${this.dropped} lost`);
    }
  }

  /**
   * Marks objects: an annotation (docs/annotations.md), or a mask as PNG. Returns what became of it.
   *
   * @param {string} camera @param {object | Uint8Array} annotation
   */
  async annotate(camera, annotation) {
    const picture = annotation instanceof Uint8Array;
    const reply = await this.#ask(camera, "annotate", picture ? annotation : JSON.stringify(annotation), picture ? png : json);
    return decode(AnnotatedSchema, reply);
  }

  /** Removes an object, or all. @param {string} camera @param {number} [id] */
  async clear(camera, id) {
    await this.#ask(camera, "clear", id === undefined ? "" : JSON.stringify({ id }));
  }

  /** Gives an object another label. @param {string} camera @param {number} id @param {string} label */
  async rename(camera, id, label) {
    return decode(ObjectSchema, await this.#ask(camera, "rename", JSON.stringify({ id, label })));
  }

  /** Keeps an object that segd marked by itself. @param {string} camera @param {number} id */
  async keep(camera, id) {
    return decode(ObjectSchema, await this.#ask(camera, "rename", JSON.stringify({ id, kept: true })));
  }

  /** Lists the camera's objects, without masks. @param {string} camera */
  async objects(camera) {
    return decode(ObjectListSchema, await this.#ask(camera, "objects"));
  }

  /** The newest picture as JPEG, with the masks drawn on or not. @param {string} camera @param {boolean} [overlay] */
  async snapshot(camera, overlay = false) {
    return (await this.#ask(camera, "snapshot", JSON.stringify({ overlay }))).data;
  }

  /** How the camera does. @param {string} camera */
  async state(camera) {
    return decode(StatusSchema, await this.#ask(camera, "state"));
  }

  /** @param {string} camera @param {string} what @param {string | Uint8Array} payload @param {string} kind */
  async #ask(camera, what, payload = "", kind = json) {
    const asks = headers();
    asks.set("Content-Type", kind);
    asks.set("Accept", protobuf);
    const subject = `segd.v1.${this.site}.${camera}.${what}`;
    let reply;
    try {
      reply = await this.connection.request(subject, payload, { timeout: this.timeout, headers: asks });
    } catch (error) {
      if (error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())) {
        throw new NotServed(`no segd of site ${this.site} serves camera ${camera}`);
      }
      if (error instanceof Error && error.cause instanceof PermissionViolationError) throw new NotPermitted(`this NATS user may not ask for ${subject}`);
      throw error;
    }
    const code = reply.headers?.get("Nats-Service-Error-Code");
    if (code) throw new Refused(Number(code), reply.string() || reply.headers?.get("Nats-Service-Error") || "");
    return reply;
  }

  /** Ends the connection and its subscriptions. */
  async close() {
    await this.connection.close();
  }
}

/**
 * Takes the user and password, or the token, out of a URL: nats.js takes none from there.
 *
 * @param {string} url
 */
export function login(url) {
  const server = new URL(url);
  const [user, pass] = [server.username, server.password].map(decodeURIComponent);
  server.username = server.password = "";
  return { servers: server.href.replace(/\/$/, ""), ...(pass ? { user, pass } : user ? { token: user } : {}) };
}
