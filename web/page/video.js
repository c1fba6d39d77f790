// A camera's stream by WHEP: its pictures, and the RTP time of each, by which the masks of the very same frame are found.
import { root } from "./root.js";
import { Session } from "./whip.js";

// rtpTime is that of a frame's picture, as docs/streams.md has it.
export function rtpTime({ ptsNs }) {
  return Number(((BigInt(ptsNs) * 9n) / 100000n) % (1n << 32n));
}

// able tells whether the browser plays H.264 and tells pictures apart.
export function able() {
  const codecs = window.RTCRtpReceiver?.getCapabilities?.("video")?.codecs ?? [];
  return "VideoFrame" in window && "requestVideoFrameCallback" in HTMLVideoElement.prototype && codecs.some((c) => c.mimeType === "video/H264");
}

export class Video {
  #pc = null;
  #session;
  #element = document.createElement("video");
  #stopped = false;
  #show;
  #lost;

  // show(at, image) is called with each picture, a VideoFrame that is to be closed, and its RTP time; lost() once there will
  // be none.
  constructor(camera, show, lost) {
    this.#session = new Session(root(`whep/${encodeURIComponent(camera)}`));
    this.#show = show;
    this.#lost = lost;
    this.#element.muted = this.#element.playsInline = true;
    this.#element.className = "unseen";
    this.#element.ariaHidden = "true";
    document.body.append(this.#element); // else browsers may not draw it
    this.#start().catch(() => this.#fail());
  }

  stop() {
    this.#stopped = true;
    this.#pc?.close();
    this.#session.end();
    this.#element.srcObject = null;
    this.#element.remove();
  }

  async #start() {
    const iceServers = await this.#session.iceServers();
    if (this.#stopped) return;
    const pc = new RTCPeerConnection({ bundlePolicy: "max-bundle", iceServers });
    this.#pc = pc;
    pc.onconnectionstatechange = () => ["disconnected", "failed"].includes(pc.connectionState) && this.#fail();
    pc.ontrack = ({ track }) => {
      this.#element.srcObject = new MediaStream([track]);
      this.#element.play().catch(() => this.#fail());
      this.#next();
    };
    const { receiver } = pc.addTransceiver("video", { direction: "recvonly" });
    receiver.jitterBufferTarget = 0;
    await pc.setLocalDescription();
    await this.#session.open(pc);
  }

  #next() {
    this.#element.requestVideoFrameCallback((_, { rtpTimestamp, mediaTime }) => {
      if (this.#stopped) return;
      if (rtpTimestamp === undefined) return this.#fail();
      this.#next();
      const image = this.#image();
      // The element may have the next picture already, whose turn comes.
      if (image && Math.abs(image.timestamp - 1e6 * mediaTime) < 2) this.#show(rtpTimestamp, image);
      else image?.close();
    });
  }

  // #image is the picture that the element has, or null: the stream may have ended.
  #image() {
    try {
      return new VideoFrame(this.#element);
    } catch {
      return null;
    }
  }

  #fail() {
    if (!this.#stopped) this.#lost();
  }
}
