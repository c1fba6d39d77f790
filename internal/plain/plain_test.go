package plain

import "testing"

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"ingest: codec: stat x":                                  "stat x",
		"ingest: whip: nobody publishes yet: open /publish/door": "whip: nobody publishes yet: open /publish/door",
		"camera gate: ingest: rtsp://h/x: connection refused":    "camera gate: rtsp://h/x: connection refused",
		"bus: camera: bus: bad name \"a b\"\nconfig: open x":     "camera: bad name \"a b\"\nopen x",
		"one; ingest: two":                                       "one; two",
		"fleet: found a list; tracker: x":                        "fleet: found a list; tracker: x",
		"codec not supported: H.263":                             "codec not supported: H.263",
		"":                                                       "",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
