package api

import (
	"context"
	"encoding/json"
)

// Changer adds, changes and removes cameras while segd runs. What it is sent is the JSON of a request, which it reads itself.
type Changer interface {
	// Add adds the camera that a JSON object describes, and returns its name.
	Add(ctx context.Context, body []byte) (camera string, err error)
	// Set changes a camera by a JSON merge patch, RFC 7396, and returns its name; "": that in the patch.
	Set(ctx context.Context, camera string, patch []byte) (name string, err error)
	// Remove removes one.
	Remove(ctx context.Context, camera string) error
}

// Declared is a camera as it is to be.
type Declared struct {
	Name   string          `json:"-"`
	URL    string          `json:"url"`    // without secrets; empty if it cannot be read
	Source string          `json:"source"` // SourceFile or SourceAdded
	Paused bool            `json:"paused"`
	Kept   bool            `json:"kept"`               // it is there again when segd starts again
	Fault  string          `json:"fault"`              // why it does not run, though it is not paused; else empty
	Given  json.RawMessage `json:"settings,omitempty"` // of an added one: what was given, without secrets
}

// Where a camera comes from.
const (
	SourceFile  = "file"
	SourceAdded = "added"
)

// Adding says how it is about adding cameras.
type Adding struct {
	Kept   bool     `json:"kept"`   // those that are added are there again when segd starts again
	Fault  string   `json:"fault"`  // why none can be added; else empty
	Detect []string `json:"detect"` // classes that a camera marks by itself which names none
}

// Tried is what a camera showed.
type Tried struct {
	Width, Height int
	PixelAspect   float64 // how many times as wide as high a pixel is meant to be seen
	Codec         string  // empty: the source does not tell
	BGR           []byte  // tight rows
	Hidden        bool    // all of it, by privacy
}

// Reloaded is what reading the configuration again came to.
type Reloaded struct {
	Added   []string // names of cameras
	Changed []string
	Removed []string
	Restart []string // settings that have changed and are heeded after a restart, by path such as http.addr
}

// MarshalJSON writes a list for each, none of them null.
func (r Reloaded) MarshalJSON() ([]byte, error) {
	list := func(names []string) []string { return append([]string{}, names...) }
	return json.Marshal(struct {
		Added   []string `json:"added"`
		Changed []string `json:"changed"`
		Removed []string `json:"removed"`
		Restart []string `json:"restart"`
	}{list(r.Added), list(r.Changed), list(r.Removed), list(r.Restart)})
}
