//go:build e2e

// Package onvif has segd find cameras that are not ours: ipycam is a whole one, which
// verifies WS-Security and streams H.264; WSDiscovery answers probes as the standard has
// it, of a camera and of a printer. All is on loopback, over real multicast.
package onvif

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// camera is what segd camera discover --json says of one, as far as it is looked at.
type camera struct {
	Name, Hardware, Address string
	Unauthorized            bool
	Device                  *struct {
		Profiles []struct {
			Encoding      string
			Width, Height int
			FPS           float64
			URL           string
			Picked        bool
		}
	}
}

// discover runs segd camera discover by the loopback interface.
func discover(t *testing.T, args ...string) (list []camera, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Program(t), append([]string{"camera", "discover", "--interface", "lo", "--json"}, args...)...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &list)
	}
	if err != nil {
		t.Fatalf("segd camera discover %q: %v\n%s%s", args, err, &out, &words)
	}
	return list, out.String() + words.String()
}

func TestONVIF(t *testing.T) {
	const user, password = "admin", "s3cr&t"
	python := filepath.Join(harness.Root(t), "bin", "onvif", "bin", "python")
	addrs := harness.FreeAddrs(t, 2)
	_, httpPort, _ := net.SplitHostPort(addrs[0])
	_, rtspPort, _ := net.SplitHostPort(addrs[1])
	page := "http://" + addrs[0] + "/onvif/device_service"
	harness.Start(t, "camera", python, "camera.py", httpPort, rtspPort, user, password)
	harness.Start(t, "device", python, "device.py", page)

	// Both are there when both answer.
	var found []camera
	for begun := time.Now(); len(found) < 2; {
		if time.Since(begun) > time.Minute {
			t.Fatalf("found %+v", found)
		}
		if resp, err := http.Get("http://" + addrs[0] + "/"); err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		} else {
			resp.Body.Close()
		}
		cmd := exec.CommandContext(t.Context(), harness.Program(t), "camera", "discover", "--interface", "lo", "--json", "--timeout", "1s")
		out, _ := cmd.Output() // while none answers it fails
		found = nil
		_ = json.Unmarshal(out, &found)
	}
	names := []string{}
	for _, c := range found {
		names = append(names, c.Name+"/"+c.Hardware)
		if c.Address != "127.0.0.1" || !c.Unauthorized || c.Device != nil {
			t.Errorf("%+v without a user", c)
		}
	}
	slices.Sort(names)
	assert.Equal(t, "Front Door/Model/X Yard/", strings.Join(names, " "), "found %q; want the camera of each, and no printer", names)

	for _, wrong := range [][]string{{user, "s3cr&T"}, {"root", password}} {
		list, said := discover(t, "--user", wrong[0], "--password", wrong[1])
		for _, c := range list {
			if !c.Unauthorized || c.Device != nil {
				t.Errorf("%q: %+v", wrong, c)
			}
		}
		if len(list) != 2 || strings.Contains(said, wrong[1]) {
			t.Errorf("%q: %s", wrong, said)
		}
	}

	list, said := discover(t, "--user", user, "--password", password)
	assert.NotContains(t, said, "s3cr", "it tells the password")
	require.Len(t, list, 2, "found %s", said)
	list, _ = discover(t, page, "--user", user, "--password", password, "--show-passwords")
	stream := ""
	for _, c := range list {
		for _, p := range c.Device.Profiles {
			if p.Picked {
				stream = p.URL
				if p.Encoding != "H264" || p.Width != 640 || p.Height != 480 || p.FPS != 10 {
					t.Errorf("picked %+v", p)
				}
			}
		}
	}
	require.Equal(t, "rtsp://admin:s3cr&t@"+addrs[1]+"/video_sub", stream, "picked")
	// What was found is a camera: init waits for a picture of it.
	file := filepath.Join(t.TempDir(), "segd.yaml")
	if out, err := exec.CommandContext(t.Context(), harness.Program(t), "init", "--url", stream, "-c", file).CombinedOutput(); err != nil {
		t.Errorf("segd init: %v\n%s", err, out)
	}
}
