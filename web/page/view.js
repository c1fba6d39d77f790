// Which part of the picture is seen, and where on the canvas it lies.

const mostZoom = 12;

export class View {
  zoom = 1; // 1: all of the picture
  #x = 0.5; // what is in the middle, as a share of the picture
  #y = 0.5;

  // place returns where a picture's corner is on the canvas and how many canvas
  // pixels one of its pixels takes: across, and scale down. picture has its width and height in
  // pixels, and how many times as wide as high one is meant to be seen.
  place(canvas, picture) {
    const scale = this.zoom * this.#base(canvas, picture);
    const across = scale * aspectOf(picture);
    return {
      scale,
      across,
      left: edge(canvas.width, picture.width * across, this.#x),
      top: edge(canvas.height, picture.height * scale, this.#y),
    };
  }

  // zoomAt changes the zoom and keeps what is at a point of the canvas there.
  zoomAt(canvas, picture, x, y, factor) {
    const before = this.place(canvas, picture);
    const px = (x - before.left) / before.across;
    const py = (y - before.top) / before.scale;
    this.zoom = Math.min(mostZoom, Math.max(1, this.zoom * factor));
    const scale = this.zoom * this.#base(canvas, picture);
    this.#x = (px + (canvas.width / 2 - x) / (scale * aspectOf(picture))) / picture.width;
    this.#y = (py + (canvas.height / 2 - y) / scale) / picture.height;
    this.#keepInside(canvas, picture, scale);
  }

  // pan moves the picture by a way on the canvas.
  pan(canvas, picture, dx, dy) {
    const scale = this.zoom * this.#base(canvas, picture);
    this.#x -= dx / (scale * aspectOf(picture)) / picture.width;
    this.#y -= dy / scale / picture.height;
    this.#keepInside(canvas, picture, scale);
  }

  reset() {
    this.zoom = 1;
    this.#x = 0.5;
    this.#y = 0.5;
  }

  #base(canvas, picture) {
    return Math.min(canvas.width / (picture.width * aspectOf(picture)), canvas.height / picture.height);
  }

  #keepInside(canvas, picture, scale) {
    this.#x = inside(this.#x, canvas.width / (picture.width * scale * aspectOf(picture)));
    this.#y = inside(this.#y, canvas.height / (picture.height * scale));
  }
}

// aspectOf is how many times as wide as high a picture's pixel is meant to be seen.
export function aspectOf(picture) {
  return picture.pixelAspect || 1;
}

function edge(room, size, middle) {
  return size <= room ? (room - size) / 2 : room / 2 - middle * size;
}

// inside keeps the middle so that no empty room shows: seen is the share of the
// picture that fits.
function inside(middle, seen) {
  return seen >= 1 ? 0.5 : Math.min(1 - seen / 2, Math.max(seen / 2, middle));
}
