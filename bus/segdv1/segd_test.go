package segdv1_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
)

func frame() *segdv1.MaskFrame {
	return &segdv1.MaskFrame{
		Site: "s", Camera: "c", Sequence: 300, PtsNs: 40_000_000,
		CaptureTime:  timestamppb.New(time.Unix(1, 5)),
		CaptureClock: segdv1.CaptureClock_CAPTURE_CLOCK_SENDER_REPORT,
		PublishTime:  timestamppb.New(time.Unix(2, 0)),
		Width:        4, Height: 3,
		Objects: []*segdv1.Object{{
			Id: 1, Label: "p", State: segdv1.State_STATE_VISIBLE,
			Box: &segdv1.Box{X: 2, Y: 1, Width: 1, Height: 1}, Area: 1, Score: 0.5, Counts: "714",
		}},
		RegionsOfInterest: []*segdv1.Region{{Box: &segdv1.Box{X: 1, Width: 3, Height: 2}, Zoom: 2}},
	}
}

// A MaskFrame as protobuf, taken apart by hand: tag (number<<3|type), then the
// value. Subscribers written against v1 read these bytes; they must not change.
func TestMaskFrameBytes(t *testing.T) {
	const want = "0a0173" + // 1 site "s"
		"120163" + // 2 camera "c"
		"18ac02" + // 3 sequence 300
		"2080b48913" + // 4 pts_ns 40,000,000
		"2a0408011005" + // 5 capture_time 1 s 5 ns
		"3002" + // 6 capture_clock SENDER_REPORT
		"3a020802" + // 7 publish_time 2 s
		"4004" + // 8 width 4
		"4803" + // 9 height 3
		"5221" + // 10 objects, 33 bytes
		"0801" + // 1 id 1
		"120170" + // 2 label "p"
		"1801" + // 3 state VISIBLE
		"22080802100118012001" + // 4 box 2,1 1×1
		"2801" + // 5 area 1
		"31000000000000e03f" + // 6 score 0.5
		"3a03373134" + // 7 counts "714"
		"5a0a" + // 11 regions_of_interest, 10 bytes
		"0a06080118032002" + // 1 box 1,0 3×2
		"1002" // 2 zoom 2
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(frame())
	require.NoError(t, err)
	assert.Equal(t, want, hex.EncodeToString(b), "bytes")
}

var (
	blockLine = regexp.MustCompile(`^(?:message|enum) (\w+) \{$`)
	fieldLine = regexp.MustCompile(`^  (?:map<[\w, ]+> |[\w.]+ )*(\w+) = (\d+);$`)
)

// The committed Go file says what segd.proto says: every field and enum value
// of the one is in the other, with the same number, and has a comment.
func TestGeneratedFromProto(t *testing.T) {
	src, err := os.ReadFile("segd.proto")
	require.NoError(t, err)
	inProto := map[string]int{}
	block, previous := "", ""
	for _, line := range regexp.MustCompile(`\n`).Split(string(src), -1) {
		if m := blockLine.FindStringSubmatch(line); m != nil {
			block = m[1]
		}
		if m := fieldLine.FindStringSubmatch(line); m != nil {
			number, err := strconv.Atoi(m[2])
			require.NoError(t, err)
			inProto[block+"."+m[1]] = number
			if number != 0 && !regexp.MustCompile(`^\s+//`).MatchString(previous) {
				t.Errorf("segd.proto: %s.%s has no comment", block, m[1])
			}
		}
		previous = line
	}

	inGo := map[string]int{}
	file := segdv1.File_bus_segdv1_segd_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			inGo[fmt.Sprintf("%s.%s", m.Name(), f.Name())] = int(f.Number())
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			inGo[fmt.Sprintf("%s.%s", e.Name(), v.Name())] = int(v.Number())
		}
	}
	if len(inGo) == 0 || len(inProto) == 0 {
		t.Fatalf("%d fields in Go, %d in segd.proto", len(inGo), len(inProto))
	}
	for name, number := range inProto {
		if got, ok := inGo[name]; !ok || got != number {
			t.Errorf("%s = %d in segd.proto, %d in segd.pb.go (run go generate)", name, number, got)
		}
	}
	for name := range inGo {
		if _, ok := inProto[name]; !ok {
			t.Errorf("%s is in segd.pb.go, not in segd.proto (run go generate)", name)
		}
	}
}

func TestPackageName(t *testing.T) {
	if got, want := segdv1.File_bus_segdv1_segd_proto.Package(), protoreflect.FullName("segd.v1"); got != want {
		t.Errorf("package %s, want %s", got, want)
	}
}

func Example() {
	wire, err := proto.Marshal(frame())
	if err != nil {
		fmt.Println(err)
		return
	}
	var mf segdv1.MaskFrame
	if err := proto.Unmarshal(wire, &mf); err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range mf.GetObjects() {
		fmt.Println(mf.GetCamera(), mf.GetSequence(), o.GetLabel(), o.GetState(), o.GetArea(), o.GetCounts())
	}
	// Output: c 300 p STATE_VISIBLE 1 714
}
