// Which part of the picture is seen, and where on the canvas it lies.

const mostZoom = 12;

export class View {
  zoom = 1; // 1: all of the picture
  #x = 0.5; // what is in the middle, as a share of the picture
  #y = 0.5;

  // place returns where a picture's corner is on the canvas and how many canvas
  // pixels one of its pixels takes.
  place(canvas, picture) {
    const scale = this.zoom * this.#base(canvas, picture);
    return {
      scale,
      left: edge(canvas.width, picture.width * scale, this.#x),
      top: edge(canvas.height, picture.height * scale, this.#y),
    };
  }

  // zoomAt changes the zoom and keeps what is at a point of the canvas there.
  zoomAt(canvas, picture, x, y, factor) {
    const before = this.place(canvas, picture);
    const px = (x - before.left) / before.scale;
    const py = (y - before.top) / before.scale;
    this.zoom = Math.min(mostZoom, Math.max(1, this.zoom * factor));
    const scale = this.zoom * this.#base(canvas, picture);
    this.#x = (px + (canvas.width / 2 - x) / scale) / picture.width;
    this.#y = (py + (canvas.height / 2 - y) / scale) / picture.height;
    this.#keepInside(canvas, picture, scale);
  }

  // pan moves the picture by a way on the canvas.
  pan(canvas, picture, dx, dy) {
    const scale = this.zoom * this.#base(canvas, picture);
    this.#x -= dx / scale / picture.width;
    this.#y -= dy / scale / picture.height;
    this.#keepInside(canvas, picture, scale);
  }

  reset() {
    this.zoom = 1;
    this.#x = 0.5;
    this.#y = 0.5;
  }

  #base(canvas, picture) {
    return Math.min(canvas.width / picture.width, canvas.height / picture.height);
  }

  #keepInside(canvas, picture, scale) {
    this.#x = inside(this.#x, canvas.width / (picture.width * scale));
    this.#y = inside(this.#y, canvas.height / (picture.height * scale));
  }
}

function edge(room, size, middle) {
  return size <= room ? (room - size) / 2 : room / 2 - middle * size;
}

// inside keeps the middle so that no empty room shows: seen is the share of the
// picture that fits.
function inside(middle, seen) {
  return seen >= 1 ? 0.5 : Math.min(1 - seen / 2, Math.max(seen / 2, middle));
}
