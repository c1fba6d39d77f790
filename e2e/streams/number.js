// Returns what reads the number of the picture that the page shows, which is written in it as so many bars, light for 1, the
// least first.
(bars, width, height) => {
  const canvas = document.getElementById("canvas");
  const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  return () => {
    [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
    copy.drawImage(canvas, 0, 0);
    // The picture is as large as it can be in the middle of the canvas.
    const scale = Math.min(canvas.width / width, canvas.height / height);
    let number = 0;
    for (let k = 0; k < bars; k++) {
      const x = canvas.width / 2 + (((k + 0.5) * width) / bars - width / 2) * scale;
      const [r, g, b] = copy.getImageData(Math.round(x), Math.round(canvas.height / 2), 1, 1).data;
      if (r + g + b > 384) number += 2 ** k;
    }
    return number;
  };
}
