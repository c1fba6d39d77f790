// Package examples holds subscribers to segd's masks in Go, Python and JavaScript,
// each in a folder that can be copied, and the tests that run them. `go test` runs
// the one in Go; those that need Python's and Node's modules have the build tag
// examples, and `make examples-test` installs what they need and runs them all.
package examples

//go:generate protoc -I ../bus/segdv1 --python_out=subscribe-python segd.proto
