package demo

import _ "embed" // the annotation

// Start is the clip's frame at which the demo begins: the first of the two persons that
// Persons marks has just come out from behind another.
const Start = 545

// Persons is an annotation of that frame, JSON: one person walks, one stands and walks off
// later.
//
//go:embed persons.json
var Persons []byte
