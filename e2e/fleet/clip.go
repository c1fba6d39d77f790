package fleet

import (
	"fmt"
	"math"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
)

const (
	width, height = 160, 120
	// loop is how many frames the clip has. Its object goes round once in them, so where it is follows from the
	// number of the frame.
	loop = 100
	// side of the object, and radius of its way, in pixels.
	side, radius = 28, 28
	objectID     = 1
)

// newClip is an object that goes round in circles before a background that stands still. There is a key frame every
// second.
func newClip(fps int) (*demo.Clip, error) {
	return demo.Draw(codec.EncoderConfig{Width: width, Height: height, FPS: fps}, loop, picture)
}

// corner is where the object's upper left one is in a frame.
func corner(k int) (x, y int) {
	angle := 2 * math.Pi * float64(k) / loop
	return width/2 - side/2 + int(math.Round(radius*math.Cos(angle))), height/2 - side/2 + int(math.Round(radius*math.Sin(angle)))
}

func picture(k int) []byte {
	pix := make([]byte, 3*width*height)
	left, top := corner(k)
	for y := range height {
		for x := range width {
			// Green and grey cloth.
			b, g, r := 60+x/4+10*((x/9+y/7)%2), 120+y/3, 60+12*((x/13)%3)
			if dx, dy := x-left, y-top; dx >= 0 && dx < side && dy >= 0 && dy < side {
				b, g, r = 40, 30+25*((dx/5)%2), 190+6*((dy/5)%4)
			}
			copy(pix[3*(y*width+x):], []byte{byte(b), byte(g), byte(r)})
		}
	}
	return pix
}

// label is that of a camera's object.
func label(camera string) string { return "thing-" + camera }

// marks are an annotation of the object in the clip's first frame, by its outline.
func marks(camera string) string {
	x, y := corner(0)
	return fmt.Sprintf(`{"frame": 0, "width": %d, "height": %d,
	"objects": [{"id": %d, "label": %q, "polygon": [[%d, %d], [%[7]d, %[6]d], [%[7]d, %[8]d], [%[5]d, %[8]d]]}]}`,
		width, height, objectID, label(camera), x, y, x+side, y+side)
}
