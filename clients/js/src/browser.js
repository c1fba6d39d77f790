import { wsconnect } from "@nats-io/nats-core";
import { Client, login } from "./client.js";

export { Client, NotPermitted, NotServed, Refused } from "./client.js";
export { mask, runs } from "./mask.js";
export * from "./segd_pb.js";

/**
 * Connects to the NATS server of a site's segd by its WebSocket listener, ws: or wss:, and again for ever when it is
 * away.
 *
 * @param {string} url
 * @param {import("./client.js").Settings & import("@nats-io/nats-core").WsConnectionOptions} [settings] also nats.js'
 *   own, such as authenticator
 */
export async function connect(url, settings = {}) {
  const { site, timeout, warn, ...options } = settings;
  return new Client(await wsconnect({ name: "segd", maxReconnectAttempts: -1, ...login(url), ...options }), { site, timeout, warn });
}
