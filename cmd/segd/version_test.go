package main

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	defer func(v, c string) { version, commit = v, c }(version, commit)
	version, commit = "0.1.0+5.g1a2b3c4", "1a2b3c4d"

	text := start(t, "version")
	require.NoError(t, text.Wait(t))
	want := "segd 0.1.0+5.g1a2b3c4 (commit 1a2b3c4d, " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	assert.Equal(t, want, text.Out.String(), "segd version printed")

	asJSON := start(t, "version", "--json")
	require.NoError(t, asJSON.Wait(t))
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(asJSON.Out.String()), &got))
	for key, want := range map[string]string{
		"version": version, "commit": commit, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
	} {
		assert.Equal(t, want, got[key], "segd version --json: %s is", key)
	}
}
