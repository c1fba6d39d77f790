// COCO run lengths: column-major, the first run counts background pixels.

const digitBase = 48; // "0" stands for zero in the compressed string
const maxDigits = 6; // 6 five-bit digits hold any run of a picture below 2^29 pixels

// parseCounts turns the compressed string (pycocotools "counts") into run
// lengths. Five bits a character, least significant first; from the fourth run
// on the string holds the difference to the run two before.
export function parseCounts(text) {
  const counts = [];
  let at = 0;
  while (at < text.length) {
    let value = 0;
    let digits = 0;
    let more = true;
    while (more) {
      if (at >= text.length) throw new Error("rle: the string ends inside a run");
      const c = text.charCodeAt(at++) - digitBase;
      if (c < 0 || c > 63) throw new Error(`rle: character ${at - 1} is not part of the alphabet`);
      if (digits >= maxDigits) throw new Error("rle: a run has too many digits");
      value |= (c & 0x1f) << (5 * digits++);
      more = (c & 0x20) !== 0;
      if (!more && (c & 0x10)) value |= -1 << (5 * digits);
    }
    if (counts.length > 2) value += counts[counts.length - 2];
    if (value < 0) throw new Error("rle: a run is negative");
    counts.push(value);
  }
  return counts;
}

// objectRuns calls visit(start, end) for each run of object pixels, as
// half-open ranges of the column-major index.
function objectRuns(counts, total, visit) {
  let at = 0;
  for (let i = 0; i < counts.length; i++) {
    const end = at + counts[i];
    if (end > total) throw new Error(`rle: the runs cover more than ${total} pixels`);
    if (i % 2 === 1 && end > at) visit(at, end);
    at = end;
  }
  if (at !== total) throw new Error(`rle: the runs cover ${at} of ${total} pixels`);
}

function bounds(counts, width, height) {
  let left = width;
  let right = -1;
  let top = height;
  let bottom = -1;
  objectRuns(counts, width * height, (start, end) => {
    const first = Math.floor(start / height);
    const last = Math.floor((end - 1) / height);
    left = Math.min(left, first);
    right = Math.max(right, last);
    if (first === last) {
      top = Math.min(top, start - first * height);
      bottom = Math.max(bottom, end - 1 - first * height);
    } else { // the run goes round the lower edge of a column
      top = 0;
      bottom = height - 1;
    }
  });
  return { left, top, width: Math.max(0, right - left + 1), height: Math.max(0, bottom - top + 1) };
}

// toCounts turns a bitmap of a whole picture (see bitmap.js) into the compressed string.
export function toCounts({ width, height, bits }) {
  const runs = [0];
  for (let x = 0, value = 0; x < width; x++) {
    for (let y = 0; y < height; y++) {
      if (bits[y * width + x] !== value) {
        value = 1 - value;
        runs.push(0);
      }
      runs[runs.length - 1]++;
    }
  }
  return runs.map((run, i) => digits(i > 2 ? run - runs[i - 2] : run)).join("");
}

function digits(value) {
  let text = "";
  for (let more = true; more;) {
    const digit = value & 0x1f;
    value >>= 5;
    more = value !== (digit & 0x10 ? -1 : 0);
    text += String.fromCharCode(digitBase + digit + (more ? 0x20 : 0));
  }
  return text;
}

// decode gives the part of a mask that holds object pixels: a row-major 0/1
// bitmap of width×height whose corner is at (left, top) of the picture. An
// empty mask gives a bitmap of size zero.
export function decode(counts, width, height) {
  const box = bounds(counts, width, height);
  const bits = new Uint8Array(box.width * box.height);
  objectRuns(counts, width * height, (start, end) => {
    let column = Math.floor(start / height);
    let row = start - column * height;
    for (let i = start; i < end; i++) {
      bits[(row - box.top) * box.width + column - box.left] = 1;
      if (++row === height) {
        row = 0;
        column++;
      }
    }
  });
  return { ...box, bits };
}
