import { connect as dial } from "@nats-io/transport-node";
import { Client, login } from "./client.js";

export { Client, NotPermitted, NotServed, Refused } from "./client.js";
export { mask, runs } from "./mask.js";
export * from "./segd_pb.js";

/**
 * Connects to the NATS server of a site's segd, and again for ever when it is away.
 *
 * @param {string} [url]
 * @param {import("./client.js").Settings & import("@nats-io/transport-node").NodeConnectionOptions} [settings] also
 *   nats.js' own, such as authenticator or tls
 */
export async function connect(url = "nats://127.0.0.1:4222", settings = {}) {
  const { site, timeout, warn, ...options } = settings;
  return new Client(await dial({ name: "segd", maxReconnectAttempts: -1, ...login(url), ...options }), { site, timeout, warn });
}
