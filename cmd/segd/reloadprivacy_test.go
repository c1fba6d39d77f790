package main

import (
	"fmt"
	"image/color"
	"image/jpeg"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/internal/waitfor"
)

// What is to be hidden in all cameras is by the time that a reload answers, in those of the file and in those that were
// added; and shown again without it. What cannot be had without a restart ends `segd reload` with 1.
func TestReloadHides(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: a segd that is reloaded")
	}
	t.Parallel()
	camera := func(name string) string {
		// Nothing is detected, so that all of a picture is hidden if anything is.
		return fmt.Sprintf(`{"name": %q, "url": "dir:%s", "loop": true, "fps": 10, "detect": {"classes": ["person"], "off": true}}`, name, daemontest.Pictures(t, 20))
	}
	gate := camera("gate")
	r := newReloading(t, "", gate)
	start(t, "run", "-c", r.file, "--watch=false")
	listen(t, r.nats)
	api := "http://" + r.http + "/api/v1"
	if status, text := send(t, http.MethodPost, api+"/cameras", camera("yard")); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	both := []string{"gate", "yard"}
	// plain tells of the next picture of each camera whether it is shown as it is.
	plain := func(want bool) {
		t.Helper()
		for _, name := range both {
			waitfor.True(t, "a picture of "+name, func() bool {
				status, text := send(t, http.MethodGet, api+"/cameras/"+name+"/snapshot", "")
				if status != http.StatusOK {
					return false
				}
				img, err := jpeg.Decode(strings.NewReader(text))
				require.NoError(t, err)
				least, most := uint8(255), uint8(0)
				for y := range img.Bounds().Dy() {
					for x := range img.Bounds().Dx() {
						grey := color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y
						least, most = min(least, grey), max(most, grey)
					}
				}
				if got := most-least > 20; got != want {
					t.Errorf("%s: a picture from %d to %d; want it as it is: %v", name, least, most, want)
				}
				return true
			})
		}
	}
	plain(true)

	head := r.head
	r.head = head + "privacy: {fill: [person]}\n"
	r.write(gate)
	out := r.reloaded()
	plain(false)
	if slices.Sort(out.Changed); !slices.Equal(out.Changed, both) || len(out.Restart) > 0 {
		t.Errorf("%+v", out)
	}
	assert.Contains(t, get(t, api+"/config"), `"fill":["person"]`, "what runs is told to be")

	// A camera that does not detect what is to be hidden cannot be added, and a reload that would leave one is refused.
	r.head = head + "privacy: {fill: [car]}\n"
	r.write(strings.Replace(gate, `"person"`, `"person", "car"`, 1))
	if status, text := r.reload(); status != http.StatusUnprocessableEntity || !strings.Contains(text, "camera yard, which was added") {
		t.Errorf("%d %s", status, text)
	}
	plain(false)

	r.head = head
	r.write(gate)
	r.reloaded()
	plain(true)

	r.head = "site: there\n" + head
	r.write(gate, camera("attic"))
	for _, args := range [][]string{{"--nats", "nats://" + r.nats}, {"--page", "http://" + r.http, "--json"}} {
		ask := start(t, append([]string{"reload"}, args...)...)
		if err := ask.Wait(t); err == nil || cli.Status(err) != cli.ExitFailure || !strings.Contains(err.Error(), "site: segd runs without") || !strings.Contains(ask.Out.String(), "site") {
			t.Errorf("segd reload %q: %v, %q", args, err, ask.Out.String())
		}
	}
}
