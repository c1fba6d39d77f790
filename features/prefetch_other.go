//go:build (!amd64 && !arm64) || noasm

package features

func prefetch(*pixel, uintptr) {}
