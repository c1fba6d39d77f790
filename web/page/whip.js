// A publisher by WHIP (RFC 9725): one track, sent until it is stopped or the
// connection is lost. A Session is what WHIP and WHEP have in common.
import { root } from "./root.js";

const maxBitrate = 5e6; // bit/s: enough for 720p, far below what a camera could fill a network with

// Refused is why segd did not take an offer.
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// Session is one at segd, from the answer to an offer on.
export class Session {
  #at = ""; // its address
  #token;
  #endpoint;

  constructor(endpoint, token = "") {
    this.#endpoint = endpoint;
    this.#token = token;
  }

  // iceServers are those that segd names.
  async iceServers() {
    const response = await this.#fetch(this.#endpoint, { method: "OPTIONS" });
    return parseLinks(response.headers.get("Link") ?? "");
  }

  // open posts a connection's offer and takes the answer, unless the connection was closed meanwhile: then the session
  // is ended. segd answers to wherever checks come from, so our candidates are not waited for.
  async open(pc) {
    const response = await this.#fetch(this.#endpoint, {
      method: "POST", headers: { "Content-Type": "application/sdp" }, body: pc.localDescription.sdp,
    });
    if (response.status !== 201) throw new Refused(response.status, await reason(response));
    this.#at = new URL(response.headers.get("Location"), response.url).href;
    const sdp = await response.text();
    if (pc.signalingState === "closed") await this.end();
    else await pc.setRemoteDescription({ type: "answer", sdp });
  }

  // end also works while the page is being left. It resolves to true if another publisher had taken over.
  async end() {
    if (!this.#at) return false;
    const at = this.#at;
    this.#at = "";
    try {
      return (await this.#fetch(at, { method: "DELETE", keepalive: true })).status === 409;
    } catch {
      return false; // segd notices by itself too
    }
  }

  #fetch(url, options) {
    const headers = { ...options.headers };
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    return fetch(url, { ...options, headers });
  }
}

export class Publisher {
  #pc = null;
  #session;
  #onState;

  // onState(state) is called with the connection's states, as WebRTC names them.
  constructor(camera, token, onState) {
    this.#session = new Session(root(`whip/${encodeURIComponent(camera)}`), token);
    this.#onState = onState;
  }

  async start(track) {
    const pc = new RTCPeerConnection({ bundlePolicy: "max-bundle", iceServers: await this.#session.iceServers() });
    this.#pc = pc;
    pc.onconnectionstatechange = () => this.#pc === pc && this.#onState(pc.connectionState);
    const { sender } = pc.addTransceiver(track, { direction: "sendonly", sendEncodings: [{ maxBitrate }] });
    await keepSize(sender);
    await pc.setLocalDescription();
    await this.#session.open(pc);
  }

  // stop ends the session; it also works while the page is being left. It resolves
  // to true if another publisher had taken over.
  stop() {
    this.#pc?.close();
    this.#pc = null;
    return this.#session.end();
  }

  // stats returns what is being sent, or null while nothing is.
  async stats() {
    if (!this.#pc) return null;
    let out = null;
    let roundTrip = NaN;
    for (const s of (await this.#pc.getStats()).values()) {
      if (s.type === "outbound-rtp" && s.kind === "video") out = s;
      if (s.type === "candidate-pair" && s.nominated) roundTrip = 1000 * s.currentRoundTripTime;
    }
    return out && { ...pick(out), roundTrip };
  }
}

// keepSize asks for fewer or coarser pictures rather than smaller ones when the way
// is narrow: segd's objects are lost when the size changes.
async function keepSize(sender) {
  if ("contentHint" in sender.track) sender.track.contentHint = "detail";
  const parameters = sender.getParameters();
  parameters.degradationPreference = "maintain-resolution";
  await sender.setParameters(parameters).catch(() => {}); // not every browser knows it
}

function pick(s) {
  return {
    bytes: s.bytesSent, frames: s.framesSent, width: s.frameWidth, height: s.frameHeight,
    fps: s.framesPerSecond, again: s.retransmittedPacketsSent, at: s.timestamp,
  };
}

// parseLinks finds the ICE servers in a Link header.
export function parseLinks(header) {
  const servers = [];
  for (const [, urls, rest] of header.matchAll(/<([^>]*)>([^<]*)/g)) {
    const value = (key) => rest.match(new RegExp(`;\\s*${key}="([^"]*)"`))?.[1];
    if (value("rel") !== "ice-server") continue;
    const username = value("username");
    servers.push(username ? { urls, username, credential: value("credential") } : { urls });
  }
  return servers;
}

async function reason(response) {
  try {
    return (await response.json()).detail ?? "";
  } catch {
    return "";
  }
}
