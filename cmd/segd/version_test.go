package main

import (
	"encoding/json"
	"runtime"
	"testing"
)

func TestVersion(t *testing.T) {
	defer func(v, c string) { version, commit = v, c }(version, commit)
	version, commit = "0.1.0+5.g1a2b3c4", "1a2b3c4d"

	text := start(t, "version")
	if err := text.Wait(t); err != nil {
		t.Fatal(err)
	}
	want := "segd 0.1.0+5.g1a2b3c4 (commit 1a2b3c4d, " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	if got := text.Out.String(); got != want {
		t.Errorf("segd version printed %q, want %q", got, want)
	}

	asJSON := start(t, "version", "--json")
	if err := asJSON.Wait(t); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(asJSON.Out.String()), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"version": version, "commit": commit, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
	} {
		if got[key] != want {
			t.Errorf("segd version --json: %s is %q, want %q", key, got[key], want)
		}
	}
}
