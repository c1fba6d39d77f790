package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
)

// segdInit runs segd init with args and no input.
func segdInit(t *testing.T, args ...string) (out, err string, fault error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	fault = run(t.Context(), append([]string{"init"}, args...), strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), fault
}

func TestInit(t *testing.T) {
	t.Parallel()
	server := daemontest.Camera(t, demo.Config{User: "admin", Password: "p&ss word"})
	url := strings.Replace(server.URL(), "rtsp://", "rtsp://admin:p&ss%20word@", 1)
	path := filepath.Join(t.TempDir(), "etc", "segd.yaml")
	out, log, err := segdInit(t, "--url", url, "--name", "gate", "--url", "whip:", "--site", "yard", "-c", path)
	require.NoError(t, err, "%s", log)
	if !strings.Contains(out, "gate, camera2") || strings.Contains(out+log, "p&ss") || strings.Contains(out+log, "ss%20") {
		t.Errorf("it says %s%s", out, log)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the passwords: %v", info.Mode())
	}
	// In a folder that hands its group down, which is how a service's user is let in, that group may read it.
	shared := filepath.Join(t.TempDir(), "segd.yaml")
	require.NoError(t, os.Chmod(filepath.Dir(shared), 0o750|fs.ModeSetgid))
	for _, args := range [][]string{nil, {"--force"}} {
		if _, log, err := segdInit(t, append(args, "--url", "whip:", "-c", shared)...); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("in a folder of a group: %v, %v", info.Mode(), err)
		}
	}
	cfg, err := config.Load(t.Context(), path, nil)
	require.NoError(t, err)
	if cfg.Site != "yard" || len(cfg.Cameras) != 2 || cfg.Cameras[0].Name != "gate" || cfg.Cameras[1].Name != "camera2" || !cfg.Cameras[1].Published() {
		t.Errorf("%+v", cfg)
	}
	assert.Equal(t, url, cfg.Cameras[0].URL, "URL")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, cam := range cfg.Cameras {
		if d := cam.Detect; !d.On() || !slices.Equal(d.Classes, config.DefaultDetectClasses()) || !bytes.Contains(text, []byte("      # score: 0.5")) {
			t.Errorf("%s detects %+v; want what a camera without it does, with its settings as comments", cam.Name, d)
		}
	}
	for _, comment := range []string{"# token:", "# superpixels: 2000", "# transport: auto", "SEGD_HTTP_ADDR"} {
		if !bytes.Contains(text, []byte(comment)) {
			t.Errorf("no comment %q", comment)
		}
	}

	// It is not overwritten, whatever the cameras are; by force it is.
	if _, _, err := segdInit(t, "--url", "whip:", "-c", path); cli.Status(err) != cli.ExitUsage || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a second init: %v", err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, text) {
		t.Error("the file changed")
	}
	if _, _, err := segdInit(t, "--url", "whip:", "--name", "phone", "-c", path, "--force"); err != nil {
		t.Error(err)
	}
	if cfg, err = config.Load(t.Context(), path, nil); err != nil || len(cfg.Cameras) != 1 || cfg.Cameras[0].Name != "phone" {
		t.Errorf("%+v %v", cfg, err)
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	server := daemontest.Camera(t, demo.Config{User: "admin", Password: "secret"})
	for _, tc := range []struct {
		name   string
		args   []string
		words  []string
		status int
	}{
		{"nobody to ask", nil, []string{"--url"}, cli.ExitUsage},
		{"more names than cameras", []string{"--url", "whip:", "--name", "a", "--name", "b"}, []string{"2 names for 1 URLs"}, cli.ExitUsage},
		{"a name with a space", []string{"--url", "whip:", "--name", "the gate"}, []string{"cameras[0].name", "the gate"}, cli.ExitUsage},
		{"the same name twice", []string{"--url", "whip:", "--url", "whip:", "--name", "a", "--name", "a"}, []string{"cameras[1].name"}, cli.ExitUsage},
		{"a scheme", []string{"--url", "ftp://192.0.2.1/x"}, []string{"ftp", "rtsp://host/path"}, cli.ExitUsage},
		{"a site with a dot", []string{"--url", "whip:", "--site", "a.b"}, []string{"site"}, cli.ExitUsage},
		{"nothing listens", []string{"--url", "rtsp://" + freeport.Addr(t) + "/x"}, []string{"connection refused", "--no-probe"}, cli.ExitFailure},
		{"no password", []string{"--url", server.URL()}, []string{"user name", "--no-probe"}, cli.ExitFailure},
		{"a folder that cannot be made", []string{"--url", "whip:", "-c", "/proc/none/segd.yaml"}, []string{"/proc/none"}, cli.ExitUsage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "segd.yaml")
			out, _, err := segdInit(t, append([]string{"-c", path}, tc.args...)...)
			if err == nil || cli.Status(err) != tc.status || !clitest.LineWith(strings.ReplaceAll(err.Error(), "\n", " "), tc.words) {
				t.Errorf("error %v, status %d; want %q, status %d", err, cli.Status(err), tc.words, tc.status)
			}
			if _, err := os.Stat(path); err == nil || out != "" {
				t.Errorf("something was written: %s", out)
			}
		})
	}
}

// A camera of snapshots gets what such a camera has.
func TestInitSnapshots(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	out, log, err := segdInit(t, "--no-probe", "--url", "snapshot+https://192.0.2.10/a.jpg", "--fingerprint", sum, "-c", "-")
	require.NoError(t, err, log)
	cfg, err := config.Parse("init", []byte(out), nil)
	if err != nil || cfg.Cameras[0].Fingerprint != sum || cfg.Cameras[0].FPS != 1 || !strings.Contains(out, "# fps: 1\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Unprobed, on standard output.
func TestInitPrints(t *testing.T) {
	out, log, err := segdInit(t, "--no-probe", "--url", "192.0.2.10", "-c", "-")
	require.NoError(t, err, log)
	cfg, err := config.Parse("init", []byte(out), nil)
	if err != nil || cfg.Cameras[0].URL != "rtsp://192.0.2.10" {
		t.Errorf("%+v %v", cfg, err)
	}
}
