package api

import (
	"errors"
	"time"
)

// ErrNoHistory says that the NATS server keeps no events.
var ErrNoHistory = errors.New("the NATS server keeps no events: it has no JetStream, or no stream of them")

// MostKept is how many kept events are returned at once.
const MostKept = 200

// Kept says which of the events are wanted that JetStream keeps. An empty field is any.
type Kept struct {
	Camera, Class string
	Kind          string // such as object_entered
	Zone          string // of a zone or a line
	Object        string // an object's id, or a part of its label in whatever case
	From, To      time.Time
	Before        uint64 // only those that were stored before that one; 0: the newest, too
	Limit         int    // 1 to MostKept
}
