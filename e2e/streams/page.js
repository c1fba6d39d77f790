// Sees whether the page draws masks on the very pictures they are of, by the number that is written in those (number.js):
// of so many frames that were shown, by kind ("video" or "jpeg"), returns how many were other pictures than they were
// said to be, and how old each was when it was drawn, in milliseconds.
async (camera, kind, enough, number) => {
  const frames = new Map(); // by sequence number: the picture's number, and when it was captured
  const masks = new WebSocket(new URL(`api/v1/cameras/${camera}/live?pictures=streamed`, location.href.replace(/^http/, "ws").replace(/#.*/, "")));
  masks.binaryType = "arraybuffer";
  masks.onmessage = (message) => {
    if (typeof message.data === "string") return;
    const length = new DataView(message.data).getUint32(0);
    if (message.data.byteLength > 4 + length) frames.set("pictures", true);
    const { frame } = JSON.parse(new TextDecoder().decode(new Uint8Array(message.data, 4, length)));
    frames.set(frame.sequence, [Math.round(Number(frame.ptsNs) / 1e8), Date.parse(frame.captureTime)]);
  };
  await new Promise((done, fail) => { masks.onopen = done; masks.onerror = () => fail(new Error("no masks")); });

  const wrong = [];
  const ages = [];
  const drawn = []; // sequence number, picture's number, when
  await new Promise((done) => {
    const watch = new MutationObserver(() => {
      const { sequence, pictures } = document.body.dataset;
      if (pictures === kind) drawn.push([sequence, number(), Date.now()]);
      if (drawn.length < enough) return;
      watch.disconnect();
      done();
    });
    watch.observe(document.body, { attributeFilter: ["data-sequence"] });
  });
  masks.close();
  for (const [sequence, seen, when] of drawn) {
    const frame = frames.get(sequence);
    if (!frame) continue;
    ages.push(when - frame[1]);
    if (frame[0] !== seen) wrong.push(`frame ${sequence} is picture ${frame[0]}, and ${seen} is drawn`);
  }
  return { wrong, ages, pictures: frames.has("pictures") };
}
