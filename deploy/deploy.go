// Package deploy holds what installs segd: the example configuration, which is all
// of it that the binary carries, and beside it the files of packages, containers and
// clusters.
package deploy

import _ "embed" // the example

// ExampleConfig is segd.example.yaml: every setting with its default in a comment,
// and cameras to begin with.
//
//go:embed segd.example.yaml
var ExampleConfig string
