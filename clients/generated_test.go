package clients

import (
	"encoding/base64"
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

// The schema that each language has is the one that segd speaks.
func TestSchemas(t *testing.T) {
	for _, tt := range []struct {
		file string
		in   *regexp.Regexp
		read func(string) (string, error)
	}{
		{"python/src/segd/segd_pb2.py", regexp.MustCompile(`AddSerializedFile\(b'((?:[^'\\]|\\.)*)'\)`), unquote},
		{"js/src/segd_pb.js", regexp.MustCompile(`fileDesc\("([^"]*)"`), decode64},
	} {
		t.Run(tt.file, func(t *testing.T) {
			text, err := os.ReadFile(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			m := tt.in.FindSubmatch(text)
			if m == nil {
				t.Fatal("it holds no descriptor")
			}
			raw, err := tt.read(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			var got descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal([]byte(raw), &got); err != nil {
				t.Fatal(err)
			}
			want := protodesc.ToFileDescriptorProto(segdv1.File_bus_segdv1_segd_proto)
			want.Name = got.Name             // the folder it was compiled from
			want.Dependency = got.Dependency // JavaScript's are beside the descriptor
			messages := want.MessageType
			for _, m := range want.MessageType {
				messages = append(messages, m.NestedType...) // the entries of maps
			}
			for _, m := range messages {
				for _, f := range m.Field {
					f.JsonName = nil // compilers leave out what follows from the name
				}
			}
			if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("it is of another segd.proto; run make generate:\n%s", diff)
			}
		})
	}
}

// decode64 reads base64, whose padding may be left out.
func decode64(s string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return string(raw), err
}

// unquote takes Python's escapes out of a bytes literal; they are Go's but for \'.
func unquote(s string) (string, error) {
	return strconv.Unquote(`"` + strings.ReplaceAll(s, `\'`, `'`) + `"`)
}
