// Package examples holds subscribers to segd's masks in Go, Python and JavaScript,
// each in a folder that can be copied. Tests in e2e/examples run them: `make test` the
// one in Go, and `make examples-test`, which installs Python's and Node's modules, all.
package examples

//go:generate protoc -I ../bus/segdv1 --python_out=subscribe-python segd.proto
