// Package history has a segd follow persons of the demo's clip through zones, and looks at what it keeps of the events: by the
// API with each role, on the page in Chromium, after segd was killed, with a stream of pictures that is full, and on a full disk.
package history
