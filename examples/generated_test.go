package examples

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/segd/segd/bus/segdv1"
)

var serialized = regexp.MustCompile(`AddSerializedFile\(b'((?:[^'\\]|\\.)*)'\)`)

// Python's copy of the schema is the one that segd speaks.
func TestPythonSchema(t *testing.T) {
	text, err := os.ReadFile("subscribe-python/segd_pb2.py")
	if err != nil {
		t.Fatal(err)
	}
	m := serialized.FindSubmatch(text)
	if m == nil {
		t.Fatal("segd_pb2.py holds no descriptor")
	}
	raw, err := unquote(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	var got descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	want := protodesc.ToFileDescriptorProto(segdv1.File_bus_segdv1_segd_proto)
	want.Name = got.Name // the folder it was compiled from
	messages := want.MessageType
	for _, m := range want.MessageType {
		messages = append(messages, m.NestedType...) // the entries of maps
	}
	for _, m := range messages {
		for _, f := range m.Field {
			f.JsonName = nil // protoc leaves out what follows from the name
		}
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("segd_pb2.py is of another segd.proto; run make generate:\n%s", diff)
	}
}

// unquote takes Python's escapes out of a bytes literal; they are Go's but for \'.
func unquote(s string) (string, error) {
	return strconv.Unquote(`"` + strings.ReplaceAll(s, `\'`, `'`) + `"`)
}
