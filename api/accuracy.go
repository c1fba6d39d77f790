package api

import "time"

// Truth is what an object truly covers in a frame.
type Truth struct {
	ID     uint32 `json:"id"`     // of an object of the frame; 0: segd follows nothing there
	Label  string `json:"label"`  // of what segd does not follow
	Counts string `json:"counts"` // mask, COCO's run lengths of the frame's size; empty: the object is not there
}

// Accuracy is how a mask that was published agrees with the truth.
type Accuracy struct {
	Sequence uint64    `json:"sequence"`
	Time     time.Time `json:"time"` // the frame's capture time
	ID       uint32    `json:"id"`   // 0: segd does not follow it
	Label    string    `json:"label"`
	Truth    int       `json:"truth"`  // pixels that it truly covers
	Mask     int       `json:"mask"`   // pixels of the mask
	J        float64   `json:"j"`      // intersection over union; 1 where both are empty
	Missed   float64   `json:"missed"` // share of the truth outside of the mask; 0 without any truth
	False    float64   `json:"false"`  // share of the mask outside of the truth; 0 without any mask
}
