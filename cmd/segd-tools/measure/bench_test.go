package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/waitfor"
)

// What runs beside is told where segd is, ends with all that it started, and is missed if it ended before.
func TestBeside(t *testing.T) {
	s := &benchSegd{page: "http://127.0.0.1:1/", bus: "nats://127.0.0.1:2"}
	var out, errs clitest.Output
	std := cli.Streams{Out: &out, Err: &errs}
	b, err := s.startBeside(t.Context(), std, `sleep 1000 & echo $! $SEGD_CLIENT_PAGE $SEGD_CLIENT_NATS; wait`)
	require.NoError(t, err)
	waitfor.True(t, "the command's word", func() bool { return strings.HasSuffix(errs.String(), "\n") })
	pid, urls, _ := strings.Cut(strings.TrimSpace(errs.String()), " ")
	n, err := strconv.Atoi(pid)
	if err != nil || urls != s.page+" "+s.bus || out.String() != "" {
		t.Errorf("it said %q, %v", errs.String(), err)
	}
	assert.NoError(t, b.end())
	waitfor.True(t, "the end of what it started", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
		return err != nil || strings.Contains(string(stat), ") Z ") // its new parent has not waited for it yet
	})

	for command, want := range map[string]string{"exit 3": "exit status 3", "true": "exit status 0"} {
		b, err := s.startBeside(t.Context(), std, command)
		require.NoError(t, err)
		<-b.ended
		if err := b.end(); err == nil || !strings.Contains(err.Error(), "--beside: the command ended before it was measured: "+want) {
			t.Errorf("%s: %v; want %s", command, err, want)
		}
	}
}

// What was sent and did not come is counted, of each camera for itself.
func TestDrainCountsLoss(t *testing.T) {
	r := &receivers{whole: make([]atomic.Int64, 3)}
	for i, n := range []int64{10, 12, 9} {
		r.whole[i].Store(n)
	}
	lost, err := r.drain(t.Context(), []int64{10, 10, 12})
	if err != nil || lost != 3 {
		t.Errorf("%d lost, %v; want 3", lost, err)
	}
}

// The clip's persons are marked with what is not theirs: objects that cover a picture are not what
// is to be measured. Whatever the size, strokes are where they are in the clip.
func TestBenchObjects(t *testing.T) {
	if demo.FindClip() == "" {
		t.Fatal("the demo's clip is not installed")
	}
	f := &benchPipelineFlags{benchFlags: benchFlags{clip: demo.FindClip(), width: 1536, height: 288}, objects: 3}
	ann, err := benchObjects(f)
	require.NoError(t, err)
	require.NoError(t, ann.Validate())
	persons, err := annotation.ParseFor(demo.Persons, 0, 0)
	require.NoError(t, err)
	if len(ann.Objects) != 3 || ann.Objects[2].Box == nil || len(ann.Background) != len(persons.Background) {
		t.Fatalf("%d objects and %d strokes of the background; want two persons and a box, and %d", len(ann.Objects), len(ann.Background), len(persons.Background))
	}
	at, want := ann.Background[0].Points[0], persons.Background[0].Points[0]
	if at[0] != 2*want[0] || at[1] != want[1]/2 {
		t.Errorf("a stroke at %v; want %v of 768×576 scaled", at, want)
	}
}
