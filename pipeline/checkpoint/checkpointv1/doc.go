// Package checkpointv1 is a camera's checkpoint as it is stored, generated from checkpoint.proto.
package checkpointv1

//go:generate protoc -I ../../.. --go_out=../../.. --go_opt=paths=source_relative pipeline/checkpoint/checkpointv1/checkpoint.proto
