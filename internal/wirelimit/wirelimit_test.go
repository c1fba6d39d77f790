package wirelimit_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/wirelimit"
	"github.com/segd/segd/pipeline/checkpoint/checkpointv1"
)

func fields(values ...any) (all wirelimit.Limits) {
	all = wirelimit.Limits{}
	for i := 0; i < len(values); i += 2 {
		all[protoreflect.FullName(values[i].(string))] = values[i+1].(int)
	}
	return all
}

// As many as there are pass, and not one more, in both forms.
func TestLimits(t *testing.T) {
	two := []*segdv1.ZoneStatus{{Name: "a", Entries: 1}, {}}
	for _, m := range []struct {
		m     proto.Message
		holds wirelimit.Limits
	}{
		{&segdv1.Event{Site: "home", Time: timestamppb.Now()}, fields()},
		{
			&segdv1.Status{Zones: two, Missed: map[string]uint64{"lost": 1, "{": 0, "]": 7}, NextAttempt: timestamppb.Now()},
			fields("segd.v1.Status.zones", 2, "segd.v1.Status.missed", 3),
		},
		{
			&checkpointv1.Checkpoint{
				Marked: [][]byte{{}, {1, 2}},
				Tracker: &checkpointv1.Tracker{Objects: []*checkpointv1.TrackedObject{
					{Box: []int32{0, 300, -1, 70000}}, {Box: []int32{1}},
				}},
				Marker: &checkpointv1.Marker{Tracks: &checkpointv1.Tracks{Tracks: []*checkpointv1.Track{{Appearance: []float32{1, 2, 3}}}}},
			},
			fields("segd.checkpoint.v1.Checkpoint.marked", 2, "segd.checkpoint.v1.Tracker.objects", 2,
				"segd.checkpoint.v1.TrackedObject.box", 5, "segd.checkpoint.v1.Tracks.tracks", 1, "segd.checkpoint.v1.Track.appearance", 3),
		},
	} {
		md := m.m.ProtoReflect().Descriptor()
		wire, err := proto.Marshal(m.m)
		require.NoError(t, err)
		text, err := protojson.MarshalOptions{Multiline: true}.Marshal(m.m)
		require.NoError(t, err)
		byName, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m.m)
		require.NoError(t, err)
		try := func(limits wirelimit.Limits) []error {
			return []error{limits.Wire(wire, md), limits.JSON(text, md), limits.JSON(byName, md)}
		}
		for _, err := range try(m.holds) {
			if err != nil {
				t.Errorf("%s: %v", md.FullName(), err)
			}
		}
		for name := range m.holds {
			less := maps.Clone(m.holds)
			less[name]--
			for form, err := range try(less) {
				if !errors.Is(err, wirelimit.ErrMany) || !strings.Contains(err.Error(), string(name)) {
					t.Errorf("one less of %s in form %d: %v", name, form, err)
				}
			}
		}
	}
}

// What merges is counted together, and a repeated field may come packed or not.
func TestMerged(t *testing.T) {
	md := (&checkpointv1.Tracker{}).ProtoReflect().Descriptor()
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	box := append(field(4, []byte{1, 0x80, 1}), 0x20, 1) // two packed, one alone
	limits := fields("segd.checkpoint.v1.Tracker.objects", 2, "segd.checkpoint.v1.TrackedObject.box", 5)
	assert.NoError(t, limits.Wire(field(3, box), md))
	assert.ErrorIs(t, limits.Wire(slices.Repeat(field(3, box), 2), md), wirelimit.ErrMany, "six numbers of five")
	outer := (&checkpointv1.Checkpoint{}).ProtoReflect().Descriptor()
	assert.ErrorIs(t, limits.Wire(slices.Repeat(field(11, field(3, nil)), 3), outer), wirelimit.ErrMany, "three objects of two")
}

// What is no message is an error, and what is not known is passed over, however deep it is.
func TestOtherBytes(t *testing.T) {
	md := (&segdv1.Status{}).ProtoReflect().Descriptor()
	for _, wire := range []string{"\xff", "\x0a", "\x0a\x05x", "\xc2\x01\x02\x0a\x05", "\x0b"} {
		if err := (wirelimit.Limits{"segd.v1.Status.lines": 9}).Wire([]byte(wire), md); err == nil || errors.Is(err, wirelimit.ErrMany) {
			t.Errorf("%q: %v", wire, err)
		}
	}
	deep := strings.Repeat(`{"a":[`, 100_000)
	closed := deep + strings.Repeat(`]}`, 100_000)
	for text, sound := range map[string]bool{
		`{}`: true, `{"later": {"zones": [1, {}]}, "zones": null}`: true, `{"later": ` + closed + `}`: true, `[[]]`: true, `7`: true,
		``: false, `{`: false, `{"zones": [`: false, `{"later": {"a"`: false, `{"later": ` + deep: false, `{"zones" []}`: false, `{1: 2}`: false,
	} {
		if err := (wirelimit.Limits{}).JSON([]byte(text), md); (err == nil) != sound || errors.Is(err, wirelimit.ErrMany) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// However many objects there are, the answer takes as little memory as the first that is too much.
func TestMemory(t *testing.T) {
	limits := fields("segd.v1.Status.zones", 32)
	md := (&segdv1.Status{}).ProtoReflect().Descriptor()
	wire := slices.Repeat([]byte{0xba, 1, 0}, 1_000_000)
	text := []byte(`{"zones": [` + strings.Repeat("{},", 1_000_000) + `{}]}`)
	if n := testing.AllocsPerRun(10, func() {
		if !errors.Is(limits.Wire(wire, md), wirelimit.ErrMany) || !errors.Is(limits.JSON(text, md), wirelimit.ErrMany) {
			t.Error("a million zones pass")
		}
	}); n > 400 {
		t.Errorf("%v allocations", n)
	}
}

func TestCheck(t *testing.T) {
	message := (&segdv1.Annotated{}).ProtoReflect().Descriptor()
	whole := wirelimit.Limits{"segd.v1.Annotated.objects": 1, "segd.v1.Annotated.warnings": 1}
	assert.NoError(t, whole.Check(message, message))
	for want, l := range map[string]wirelimit.Limits{
		"segd.v1.Annotated.warnings has no limit":                  {"segd.v1.Annotated.objects": 1},
		"segd.v1.Annotated.site has a limit, and is no such field": {"segd.v1.Annotated.objects": 1, "segd.v1.Annotated.warnings": 1, "segd.v1.Annotated.site": 1},
	} {
		if err := l.Check(message); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
