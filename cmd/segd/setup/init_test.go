package setup

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// camera serves a second of grey.
func camera(t *testing.T, cfg demo.Config) *demo.Server {
	t.Helper()
	clip, err := demo.Draw(codec.EncoderConfig{Width: 96, Height: 64, FPS: 10}, 10, func(int) []byte {
		return bytes.Repeat([]byte{100}, 3*96*64)
	})
	require.NoError(t, err)
	s, err := demo.NewServer(clip, cfg)
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(s.Close)
	return s
}

// typing is an initialiser that reads these lines.
func typing(out io.Writer, paths []string, lines ...string) *initialiser {
	return &initialiser{in: bufio.NewReader(strings.NewReader(strings.Join(lines, "\n") + "\n")), out: out, paths: paths}
}

// Asked for: the address alone, user and password after the camera wanted them, the
// path found among those tried, a name that is refused once.
func TestInitAsks(t *testing.T) {
	t.Parallel()
	server := camera(t, demo.Config{User: "admin", Password: "secret"})
	host := strings.TrimSuffix(strings.TrimPrefix(server.URL(), "rtsp://"), demo.Path)
	var said bytes.Buffer
	i := typing(&said, []string{"/stream1", demo.Path}, host, "admin", "secret", "the gate", "gate", "")
	cameras, err := i.cameras(t.Context(), true)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	want := "rtsp://admin:secret@" + host + demo.Path
	if len(cameras) != 1 || cameras[0].Name != "gate" || cameras[0].URL != want {
		t.Errorf("%+v, want %s\n%s", cameras, want, said.String())
	}
	assert.NotContains(t, said.String(), "secret", "it tells the password")

	// Not there: kept all the same, since that was answered; a second one given up.
	gone := "rtsp://" + freeport.Addr(t) + "/x"
	i = typing(io.Discard, nil, gone, "y", "", gone, "n")
	if cameras, err = i.cameras(t.Context(), true); err != nil || len(cameras) != 1 || cameras[0].URL != gone || cameras[0].Name != "camera1" {
		t.Errorf("%+v %v", cameras, err)
	}
	_, err = typing(io.Discard, nil, "").cameras(t.Context(), true)
	assert.Equal(t, cli.ExitUsage, cli.Status(err), "nothing named: %v", err)
}
