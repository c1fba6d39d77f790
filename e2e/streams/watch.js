// Watches a stream by WHEP beside the masks of its camera, until so many pictures were shown whose masks came, too. Returns
// those shown, those of them that masks were found for, how long after its capture each was shown, and how long after
// its masks had come with a small JPEG, in milliseconds.
async (path, camera, enough) => {
  const captured = new Map(); // by RTP time
  const masks = new WebSocket(`ws://${location.host}/api/v1/cameras/${camera}/live?width=160`);
  masks.binaryType = "arraybuffer";
  masks.onmessage = (message) => {
    if (typeof message.data === "string") return;
    const length = new DataView(message.data).getUint32(0);
    const { frame } = JSON.parse(new TextDecoder().decode(new Uint8Array(message.data, 4, length)));
    captured.set(Number(((BigInt(frame.ptsNs) * 9n) / 100000n) % (1n << 32n)), [Date.parse(frame.captureTime), performance.timeOrigin + performance.now()]);
  };
  await new Promise((done, fail) => { masks.onopen = done; masks.onerror = () => fail(new Error("no masks")); });

  const pc = new RTCPeerConnection();
  pc.addTransceiver("video", { direction: "recvonly" }).receiver.jitterBufferTarget = 0;
  const video = document.createElement("video");
  video.muted = true;
  document.body.append(video);
  pc.ontrack = (event) => { video.srcObject = event.streams[0]; video.play(); };
  await pc.setLocalDescription(await pc.createOffer());
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: pc.localDescription.sdp });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  await pc.setRemoteDescription({ type: "answer", sdp: await answer.text() });

  const shown = []; // RTP times, and when
  await new Promise((done) => {
    const one = (_, picture) => {
      shown.push([picture.rtpTimestamp, performance.timeOrigin + picture.expectedDisplayTime]);
      if (shown.filter(([at]) => captured.has(at)).length >= enough) done();
      else video.requestVideoFrameCallback(one);
    };
    video.requestVideoFrameCallback(one);
  });
  const size = [video.videoWidth, video.videoHeight];
  await fetch(answer.headers.get("Location"), { method: "DELETE" });
  pc.close();
  masks.close();
  const first = Math.min(...captured.keys());
  const both = shown.filter(([at]) => at >= first);
  const found = both.filter(([at]) => captured.has(at));
  return { size, shown: both.length, found: found.length, latency: found.map(([at, when]) => when - captured.get(at)[0]), later: found.map(([at, when]) => when - captured.get(at)[1]) };
}
