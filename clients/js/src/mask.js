// What segd decodes; a message that says more is not segd's, and would take memory without bound.
const maxSide = 8192;
const maxPixels = 8192 * 4608;

/**
 * Returns the run lengths of COCO's string, background first.
 *
 * Five bits a character, lowest first; from the fourth run on the string holds the difference to the run two before.
 * Throws a RangeError for what is no such string.
 *
 * @param {string} counts
 * @returns {number[]}
 */
export function runs(counts) {
  /** @type {number[]} */
  const lengths = [];
  let value = 0, shift = 0;
  for (const character of counts) {
    const piece = (character.codePointAt(0) ?? 0) - 48;
    if (piece < 0 || piece > 63 || shift > 25) throw new RangeError(`${JSON.stringify(character)} in the run lengths of a mask`);
    value += (piece & 31) * 2 ** shift;
    shift += 5;
    if (piece & 32) continue; // more of the number follows
    if (piece & 16) value -= 2 ** shift;
    if (lengths.length > 2) value += lengths[lengths.length - 2];
    if (value < 0) throw new RangeError(`a run of ${value} pixels`);
    lengths.push(value);
    value = shift = 0;
  }
  if (shift > 0) throw new RangeError("run lengths that end within a number");
  return lengths;
}

/**
 * Returns the mask of one of the frame's objects: height rows of width pixels, 1 on the object and else 0.
 *
 * Throws a RangeError if its runs do not cover the picture, or the picture is larger than any of segd's; the other
 * objects of the frame may be sound.
 *
 * @param {{width: number, height: number}} frame
 * @param {{counts: string}} object
 * @returns {Uint8Array}
 */
export function mask({ width, height }, { counts }) {
  if (!(width > 0 && width <= maxSide && height > 0 && height <= maxSide && width * height <= maxPixels)) {
    throw new RangeError(`a picture of ${width}×${height}`);
  }
  const lengths = runs(counts);
  const pixels = lengths.reduce((sum, n) => sum + n, 0);
  if (pixels !== width * height) throw new RangeError(`runs of ${pixels} pixels in a picture of ${width}×${height}`);
  const bits = new Uint8Array(pixels);
  let at = 0;
  lengths.forEach((length, i) => {
    const end = at + length;
    if (i % 2 === 0) at = end; // background
    for (; at < end; at++) bits[(at % height) * width + Math.floor(at / height)] = 1; // the runs go down the columns
  });
  return bits;
}
