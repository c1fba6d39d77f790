package coco

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := Names()
	if len(names) != 80 || names[0] != "person" || names[79] != "toothbrush" || !slices.Contains(names, "traffic light") {
		t.Errorf("%d names, %q", len(names), names)
	}
}

func TestParseNames(t *testing.T) {
	got, err := ParseNames(" crate\r\nfork lift\n")
	if err != nil || !slices.Equal(got, []string{"crate", "fork lift"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "a\n\nb"} {
		if _, err := ParseNames(text); err == nil || !strings.Contains(err.Error(), "is empty; want a name a line") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
