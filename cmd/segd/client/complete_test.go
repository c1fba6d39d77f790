package client

import (
	"bytes"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client/clienttest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/waitfor"
)

// manager changes no cameras.
type manager struct{ api.Changer }

func list() ([]byte, error) {
	return []byte(`{"cameras":[{"name":"gate","source":"file"},{"name":"yard","source":"added"},{"name":"attic","source":"added","paused":true}]}`), nil
}

// camera is one without objects.
type camera struct{ bus.Camera }

func (camera) Objects() (uint64, []*segdv1.Object) { return 0, nil }

// serve has a segd at the NATS server url answer for cameras of a site.
func serve(t *testing.T, url, site string, cameras ...string) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Config{External: bus.External{URL: url}, Site: site})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	waitfor.True(t, "a connection", b.Connected)
	require.NoError(t, b.Serve(bus.Commands{
		Cameras: cameras, Manage: manager{}, List: list,
		Camera: func(string) (bus.Camera, error) { return camera{}, nil }, Refuse: func(err error) error { return err },
	}))
}

// Where segd is may come from the environment; the command line counts before it, and help does not show it.
func TestEnvironment(t *testing.T) {
	s, _ := clienttest.OpenNATS(t)
	serve(t, s.ClientURL(), "home", "gate")
	serve(t, s.ClientURL(), "barn", "stall")
	t.Setenv("SEGD_CLIENT_NATS", s.ClientURL())
	t.Setenv("SEGD_CLIENT_SITE", "barn")
	t.Setenv("SEGD_CLIENT_PAGE", "http://me:s3cret@box.invalid")
	t.Setenv("SEGD_CLIENT_TOKEN", "s3cret-0123456789")
	for _, tc := range []struct{ line, want string }{
		{"objects stall", "stall: no objects\n"},
		{"objects gate --site home", "gate: no objects\n"},
	} {
		c := start(t, strings.Fields(tc.line)...)
		if err := c.Wait(t); err != nil || c.Out.String() != tc.want {
			t.Errorf("%s: %q, %v", tc.line, c.Out.String(), err)
		}
	}
	assert.Error(t, start(t, "objects", "gate", "--nats", "nats://127.0.0.1:1").Wait(t), "--nats does not count before the environment")
	assert.ErrorContains(t, start(t, "watch", "gate", "--save", t.TempDir()).Wait(t), "box.invalid", "the page's address is not of the environment")
	for _, cmd := range Commands(cli.Streams{Out: io.Discard, Err: io.Discard}) {
		if help := cmd.UsageString(); strings.Contains(help, "s3cret") || strings.Contains(help, s.ClientURL()) ||
			cmd.Flags().Lookup("nats") != nil && !strings.Contains(help, `[$SEGD_CLIENT_NATS] (default "nats://127.0.0.1:4222")`) {
			t.Errorf("%s --help:\n%s", cmd.Name(), help)
		}
	}
}

// What the environment says of commands says nothing to segd run in the same shell.
func TestEnvironmentIsOfCommandsOnly(t *testing.T) {
	const file = "cameras: []"
	want, err := config.Parse("segd.yaml", []byte(file), nil)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, cmd := range Commands(cli.Streams{Out: io.Discard, Err: io.Discard}) {
		for _, m := range regexp.MustCompile(`\[\$(\w+)\]`).FindAllStringSubmatch(cmd.UsageString(), -1) {
			names[m[1]] = true
		}
	}
	for name := range names {
		got, err := config.Parse("segd.yaml", []byte(file), []string{name + "=nats://elsewhere.invalid:4222"})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is a setting, too: %+v, %v", name, got, err)
		}
	}
	if len(names) < 4 {
		t.Errorf("of the environment are %v only", names)
	}
}

// Who waits for what no segd runs is told, and goes on waiting.
func TestWatchUnserved(t *testing.T) {
	s, nc := clienttest.OpenNATS(t)
	c := start(t, "watch", "gaet", "--nats", s.ClientURL())
	waitfor.True(t, "a word on it", func() bool {
		for _, camera := range []string{"gate", "yard"} {
			assert.NoError(t, nc.Publish("segd.v1.home."+camera+".status", nil))
		}
		return strings.Contains(c.Err.String(), "runs a camera gaet; they run home/gate, home/yard (site/camera); waiting for it\n")
	})
	publish(t, nc, "segd.v1.home.gaet.mask", &segdv1.MaskFrame{Site: "home", Camera: "gaet", Sequence: 7, Width: 4, Height: 3})
	waitfor.True(t, "its frame", func() bool { return strings.Contains(c.Out.String(), "gaet  frame 7") })
}

// What a shell is offered where a camera's name belongs.
func TestCompleteCameras(t *testing.T) {
	s, _ := clienttest.OpenNATS(t)
	serve(t, s.ClientURL(), "home", "gate", "yard")
	serve(t, s.ClientURL(), "barn", "stall")
	t.Setenv("SEGD_CLIENT_NATS", s.ClientURL())
	for _, tc := range []struct{ line, want string }{
		{"watch", "stall gate yard :4"},
		{"objects", "gate yard :4"},
		{"objects --site barn", "stall :4"},
		{"annotate", "gate yard :4"},
		{"annotate gate", ":0"}, // a file
		{"clear gate", ":4"},
		{"fleet move", "gate yard :4"},
		{"camera set", "yard attic :4"},
		{"camera pause", "yard :4"},
		{"camera resume", "attic :4"},
		{"camera remove --nats nats://127.0.0.1:1", ":4"}, // no server there
	} {
		var out bytes.Buffer
		std := cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}
		root := &cobra.Command{Use: "segd"}
		camera := &cobra.Command{Use: "camera"}
		camera.AddCommand(CameraCommands(std)...)
		root.AddCommand(append(Commands(std), camera)...)
		root.SetOut(&out)
		root.SetErr(io.Discard)
		root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Fields(tc.line)...), ""))
		require.NoError(t, root.ExecuteContext(t.Context()))
		assert.Equal(t, tc.want, strings.Join(strings.Fields(out.String()), " "), "segd %s", tc.line)
	}
}
