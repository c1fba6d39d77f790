// Package segdv1 holds the messages segd publishes on NATS, as Go types made
// from segd.proto, which documents each field with its unit or clock.
//
// The Go file is committed. After a change of segd.proto, "go generate" makes it
// anew with protoc (Debian's protobuf-compiler) and protoc-gen-go v1.36.12 (go
// install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12). Messages are
// plain values: one goroutine writes, or many read.
package segdv1

//go:generate protoc -I ../.. --go_out=../.. --go_opt=paths=source_relative bus/segdv1/segd.proto
