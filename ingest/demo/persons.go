package demo

import _ "embed" // the annotation

// Start is the clip's frame at which the demo begins: the first of the two persons that
// Persons marks has just come out from behind another.
const Start = 545

// StartOf is the frame at which a video begins: [Start] of the sample clip, the first of any other.
func StartOf(path string) int {
	if path == FindClip() {
		return Start
	}
	return 0
}

// Persons is an annotation of that frame, JSON: one person walks, one stands and walks off
// later.
//
//go:embed persons.json
var Persons []byte
