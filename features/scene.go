package features

// Lab is CIELAB for the D65 white of sRGB: L in 0…100, a and b about −110…110.
// It is what every colour of this package means.

// An Edge joins two superpixels that touch.
type Edge struct {
	// I and J are superpixel indices, I < J.
	I, J int32
	// Length counts the 4-neighbour pixel pairs the border consists of.
	Length float32
	// Contrast is the Euclidean distance between the mean Lab colours of I and J.
	Contrast float32
}

// A Scene is one image seen as superpixels. All slices are flat and row-major.
//
// An Extractor fills it; whoever holds it may read it from any goroutine as long
// as nobody hands it to Extract again.
type Scene struct {
	// Seq is the caller's frame number. Extract leaves it alone. A Tracker counts time
	// by it: frames that were dropped have had theirs.
	Seq uint64
	// Width and Height are the image's, in pixels.
	Width, Height int
	// Labels holds Height×Width superpixel indices in 0…N−1. Every superpixel is
	// one 4-connected region and none is empty.
	Labels []int32
	// Pixels is Height×Width×3: every pixel's L, a and b, in units of 1/LabUnit.
	Pixels []int16
	// N counts superpixels, D the columns of X.
	N, D int
	// X is N×D: the model's channels averaged over the superpixel, map by map in
	// the model's order, then mean L, a and b. Raw: a Projection standardises.
	X []float32
	// Maps holds the channels of each of the model's maps, in X's order; they sum to
	// D−3. Columns of one map are of one scale.
	Maps []int
	// Lab is N×3, the mean colour.
	Lab []float32
	// Centroid is N×2: mean x, mean y of the superpixel's pixel centres, in pixels.
	Centroid []float32
	// Area counts pixels, N of them sum to Width×Height.
	Area []int32
	// Edges lists each touching pair once, sorted by I, then J.
	Edges []Edge
	// Coarse holds X as the model sees the image at 1/2 and at 1/4 of its size, if
	// somebody asked for it: see [Extractor.Coarsen].
	Coarse [][]float32
}

// A Map is a stack of feature planes over an image.
type Map struct {
	// Channels, Height and Width are Data's shape, in that order, row-major.
	Channels, Height, Width int
	// Cell (i, j) is centred on pixel x = StrideX·j + OffsetX, y = StrideY·i + OffsetY
	// of the original image, where pixel (0, 0) is centred on x = y = 0.
	StrideX, StrideY, OffsetX, OffsetY float64
	// Data holds Channels×Height×Width values.
	Data []float32
}

// A Model computes feature maps of an image; features/dnn has one.
type Model interface {
	// Features computes the maps of a BGR24 image of width×height pixels (tight,
	// 3·width·height bytes, not kept), shown to the model at 1/shrink of the usual
	// size, and returns them in dst, whose memory it reuses. Number, order and
	// channels of the maps never change, and cells are placed in the image as it is.
	Features(dst []Map, bgr []byte, width, height, shrink int) ([]Map, error)
}
