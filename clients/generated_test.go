package clients

import (
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
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
			require.NoError(t, err)
			m := tt.in.FindSubmatch(text)
			if m == nil {
				t.Fatal("it holds no descriptor")
			}
			raw, err := tt.read(string(m[1]))
			require.NoError(t, err)
			var got descriptorpb.FileDescriptorProto
			require.NoError(t, proto.Unmarshal([]byte(raw), &got))
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
			assert.Empty(t, cmp.Diff(want, &got, protocmp.Transform()), "it is of another segd.proto; run make generate")
		})
	}
}

// So are the types beside them, which editors and checkers read: each message with its fields, each enum with its values.
func TestTypes(t *testing.T) {
	messages, typed, values := map[string][]string{}, map[string][]string{}, []string(nil)
	file := segdv1.File_bus_segdv1_segd_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		name := string(m.Name())
		messages[name], typed[name] = []string{}, []string{}
		for k := range m.Fields().Len() {
			f := m.Fields().Get(k)
			if f.Name() != "class" { // a keyword of Python, which getattr reads
				messages[name] = append(messages[name], string(f.Name()))
			}
			typed[name] = append(typed[name], fmt.Sprintf("%s %s = %d", typeOf(f), f.Name(), f.Number()))
		}
		slices.Sort(messages[name])
		slices.Sort(typed[name])
	}
	for i := range file.Enums().Len() {
		all := file.Enums().Get(i)
		for k := range all.Values().Len() {
			values = append(values, fmt.Sprintf("%s %s = %d", all.Name(), all.Values().Get(k).Name(), all.Values().Get(k).Number()))
		}
	}
	slices.Sort(values)

	text, err := os.ReadFile("python/src/segd/segd_pb2.pyi")
	require.NoError(t, err)
	python, constants := map[string][]string{}, []string(nil)
	for _, m := range regexp.MustCompile(`(?m)^class (\w+)\(_message\.Message\):\n    __slots__ = \[(.*)\]`).FindAllStringSubmatch(string(text), -1) {
		python[m[1]] = regexp.MustCompile(`\w+`).FindAllString(m[2], -1)
		slices.Sort(python[m[1]])
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+): (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		constants = append(constants, m[2]+" "+m[1])
	}
	named := make([]string, len(values))
	for i, v := range values {
		named[i], _, _ = strings.Cut(v, " = ")
	}
	slices.Sort(named)
	slices.Sort(constants)
	assert.Empty(t, cmp.Diff(messages, python, cmpopts.EquateEmpty()), "segd_pb2.pyi has other messages; run make generate")
	assert.Empty(t, cmp.Diff(named, constants), "segd_pb2.pyi has other values; run make generate")

	text, err = os.ReadFile("js/src/segd_pb.d.ts")
	require.NoError(t, err)
	js, numbered, in := map[string][]string{}, []string(nil), ""
	for _, m := range regexp.MustCompile(`@generated from (field|enum value): (.*?);?\n|@generated from (message|enum) segd\.v1\.(\w+)\n`).FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[3] == "message":
			in, js[m[4]] = m[4], []string{}
		case m[3] == "enum":
			in = m[4]
		case m[1] == "field":
			js[in] = append(js[in], m[2])
		case m[1] == "enum value":
			numbered = append(numbered, in+" "+m[2])
		}
	}
	for _, fields := range js {
		slices.Sort(fields)
	}
	slices.Sort(numbered)
	assert.Empty(t, cmp.Diff(typed, js, cmpopts.EquateEmpty()), "segd_pb.d.ts has other messages; run make generate")
	assert.Empty(t, cmp.Diff(values, numbered), "segd_pb.d.ts has other values; run make generate")
}

// typeOf is a field's type as segd.proto has it.
func typeOf(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", typeOf(f.MapKey()), typeOf(f.MapValue()))
	case f.Message() != nil:
		name = string(f.Message().FullName())
	case f.Enum() != nil:
		name = string(f.Enum().FullName())
	}
	switch {
	case f.IsList():
		return "repeated " + name
	case f.HasOptionalKeyword():
		return "optional " + name
	}
	return name
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
