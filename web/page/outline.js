// The border of a mask as closed polygons along pixel edges, so that tint and
// outline can be drawn crisply at any scale.

const east = 0;
const stepX = [1, 0, -1, 0];
const stepY = [0, 1, 0, -1];
// The two pixels ahead of a corner, by heading: on the right hand (where the
// object is kept) and on the left.
const rightX = [0, -1, -1, 0];
const rightY = [0, 0, -1, -1];
const leftX = [0, 0, -1, -1];
const leftY = [-1, 0, 0, -1];

// polygons walks the border of a bitmap (see decode in rle.js) and returns one
// array of x, y corners per closed loop, in picture coordinates. Loops round
// holes are among them: fill with the even-odd rule.
export function polygons(bitmap) {
  const { width, height, bits } = bitmap;
  const seen = new Uint8Array(bits.length); // upper edges already walked along
  const loops = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (isUpperEdge(bitmap, x, y) && !seen[y * width + x]) loops.push(walk(bitmap, seen, x, y));
    }
  }
  return loops;
}

function isSet({ width, height, bits }, x, y) {
  return x >= 0 && y >= 0 && x < width && y < height && bits[y * width + x] === 1;
}

function isUpperEdge(bitmap, x, y) {
  return isSet(bitmap, x, y) && !isSet(bitmap, x, y - 1);
}

function walk(bitmap, seen, startX, startY) {
  const loop = [bitmap.left + startX, bitmap.top + startY];
  let x = startX;
  let y = startY;
  let heading = east;
  do {
    if (heading === east) seen[y * bitmap.width + x] = 1;
    x += stepX[heading];
    y += stepY[heading];
    const next = turn(bitmap, x, y, heading);
    if (next !== heading) loop.push(bitmap.left + x, bitmap.top + y);
    heading = next;
  } while (x !== startX || y !== startY || heading !== east);
  return loop;
}

// turn keeps the object on the right; pixels that touch only by a corner are
// separate.
function turn(bitmap, x, y, heading) {
  if (!isSet(bitmap, x + rightX[heading], y + rightY[heading])) return (heading + 1) % 4;
  if (isSet(bitmap, x + leftX[heading], y + leftY[heading])) return (heading + 3) % 4;
  return heading;
}

// toPath makes one Path2D of the loops.
export function toPath(loops) {
  const path = new Path2D();
  for (const loop of loops) {
    path.moveTo(loop[0], loop[1]);
    for (let i = 2; i < loop.length; i += 2) path.lineTo(loop[i], loop[i + 1]);
    path.closePath();
  }
  return path;
}
