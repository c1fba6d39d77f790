package bus

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
)

func TestUnmarshal(t *testing.T) {
	want := maskFrame("demo", 7)
	binary, err := marshal(nil, want, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := marshal(nil, want, true)
	if err != nil {
		t.Fatal(err)
	}
	// What a later segd may add: a field of a number and a name not known here.
	newerBinary := append(append([]byte{}, binary...), 0xf8, 0x3f, 1)
	newerText := strings.Replace(string(text), "{", `{"laterField": 1, `, 1)

	tests := []struct {
		name, contentType, data, err string
	}{
		{"protobuf", "application/x-protobuf; message=segd.v1.MaskFrame", string(binary), ""},
		{"protobuf, no message", "application/x-protobuf", string(binary), ""},
		{"no type", "", string(binary), ""},
		{"JSON", "application/json", string(text), ""},
		{"JSON with charset", "application/json; charset=utf-8", string(text), ""},
		{"newer protobuf", "", string(newerBinary), ""},
		{"newer JSON", "application/json", newerText, ""},
		{"other message", "application/x-protobuf; message=segd.v1.Event", string(binary), "it is a segd.v1.Event, want a segd.v1.MaskFrame"},
		{"other type", "text/plain", "hi", `"text/plain", want application/x-protobuf or application/json`},
		{"bad type", "a b;;", "hi", "Content-Type"},
		{"truncated protobuf", "", string(binary[:len(binary)-1]), "bytes of segd.v1.MaskFrame"},
		{"not protobuf", "", "\xff\xff\xff\xff", "4 bytes of segd.v1.MaskFrame"},
		{"truncated JSON", "application/json", string(text[:len(text)-1]), "bytes of segd.v1.MaskFrame"},
		{"JSON said to be protobuf", "", string(text), "bytes of segd.v1.MaskFrame"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got segdv1.MaskFrame
			err := Unmarshal(tt.contentType, []byte(tt.data), &got)
			if tt.err != "" {
				if !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Unmarshal = %v, want an ErrMessage with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got.ProtoReflect().SetUnknown(nil)
			if !proto.Equal(want, &got) {
				t.Errorf("got %v, want %v", &got, want)
			}
		})
	}
}

// Zeros are written out: who reads JSON by hand need not know that they may be
// missing.
func TestJSONHasZeros(t *testing.T) {
	text, err := marshal(nil, &segdv1.Status{Camera: "demo"}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"up"`, `"fpsIn"`, `"framesIn"`, `"latencyP95Seconds"`, `"objects"`} {
		if !strings.Contains(string(text), name) {
			t.Errorf("%s misses %s", text, name)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, m := range []proto.Message{maskFrame("demo", 7), &segdv1.Event{Camera: "demo", Kind: segdv1.EventKind_EVENT_KIND_CAMERA_UP}, &segdv1.Status{Camera: "demo", FpsIn: 10}} {
		for _, json := range []bool{false, true} {
			data, err := marshal(nil, m, json)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(contentType(m, json), data)
		}
	}
	f.Add("text/plain", []byte("hi"))
	f.Fuzz(func(t *testing.T, contentType string, data []byte) {
		for _, m := range []proto.Message{new(segdv1.MaskFrame), new(segdv1.Event), new(segdv1.Status)} {
			if err := Unmarshal(contentType, data, m); err != nil {
				if !errors.Is(err, ErrMessage) {
					t.Fatalf("error %v does not wrap ErrMessage", err)
				}
				continue
			}
			again, err := marshal(nil, m, false)
			if err != nil {
				t.Fatalf("decoded %q, and it cannot be encoded again: %v", data, err)
			}
			back := m.ProtoReflect().New().Interface()
			if err := Unmarshal("", again, back); err != nil {
				t.Fatal(err)
			}
		}
	})
}
