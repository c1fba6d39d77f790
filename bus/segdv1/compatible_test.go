package segdv1_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/segd/segd/bus/segdv1"
)

// promises is what v1 has promised so far, one thing a line. Lines are only added.
const promises = "testdata/v1.txt"

var add = flag.Bool("add", false, "add what is new in segd.proto to "+promises)

// scope is a file or a message: messages and enums may be in either.
type scope interface {
	Messages() protoreflect.MessageDescriptors
	Enums() protoreflect.EnumDescriptors
}

// promised lists what a subscriber may rely on: in protobuf the numbers and types,
// in JSON the names too. `buf breaking` of buf 1.50 judges by the same.
func promised(s scope) []string {
	var lines []string
	for i := range s.Messages().Len() {
		m := s.Messages().Get(i)
		lines = append(lines, fmt.Sprintf("message %s", m.FullName()))
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			kind := f.Kind().String()
			switch {
			case f.Message() != nil:
				kind = string(f.Message().FullName())
			case f.Enum() != nil:
				kind = string(f.Enum().FullName())
			}
			if o := f.ContainingOneof(); o != nil {
				kind += " in oneof " + string(o.Name()) // optional is one, too
			}
			lines = append(lines, fmt.Sprintf("field %s = %d: %s %s, in JSON %s", f.FullName(), f.Number(), f.Cardinality(), kind, f.JSONName()))
		}
		lines = append(lines, promised(m)...)
	}
	for i := range s.Enums().Len() {
		e := s.Enums().Get(i)
		lines = append(lines, fmt.Sprintf("enum %s", e.FullName()))
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			lines = append(lines, fmt.Sprintf("value %s.%s = %d", e.FullName(), v.Name(), v.Number()))
		}
	}
	return lines
}

// without returns the lines of a that b has not.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// Nothing that v1 promised may go or change: subscribers are not rebuilt when segd
// is. What is new is promised from the commit on that brings it.
func TestCompatible(t *testing.T) {
	text, err := os.ReadFile(promises)
	require.NoError(t, err)
	old := strings.Split(strings.TrimSpace(string(text)), "\n")
	now := promised(segdv1.File_bus_segdv1_segd_proto)
	for _, line := range without(old, now) {
		t.Errorf("segd.proto breaks subscribers, it no longer has\n  %s\nbring it back, and give what differs a new name and number", line)
	}
	added := without(now, old)
	if len(added) == 0 || t.Failed() {
		return
	}
	if !*add {
		t.Fatalf("segd.proto has more than %s; run go test ./bus/segdv1 -add if it is to stay for ever:\n  %s", promises, strings.Join(added, "\n  "))
	}
	require.NoError(t, os.WriteFile(promises, []byte(strings.Join(append(old, added...), "\n")+"\n"), 0o644))
}

// The judge is judged: what breaks subscribers takes a line away, what does not
// takes none.
func TestPromised(t *testing.T) {
	before := promised(segdv1.File_bus_segdv1_segd_proto)
	for _, tt := range []struct {
		name   string
		change func(f *descriptorpb.FileDescriptorProto)
		breaks bool
	}{
		{"nothing", func(*descriptorpb.FileDescriptorProto) {}, false},
		{"a new message", func(f *descriptorpb.FileDescriptorProto) {
			f.MessageType = append(f.MessageType, &descriptorpb.DescriptorProto{Name: proto.String("New")})
		}, false},
		{"a new field", func(f *descriptorpb.FileDescriptorProto) {
			m := message(f, "Object")
			more := proto.Clone(field(m, "area")).(*descriptorpb.FieldDescriptorProto)
			more.Name, more.JsonName, more.Number = proto.String("more"), proto.String("more"), proto.Int32(99)
			m.Field = append(m.Field, more)
		}, false},
		{"fields in another order", func(f *descriptorpb.FileDescriptorProto) { slices.Reverse(message(f, "Object").Field) }, false},
		{"a new enum value", func(f *descriptorpb.FileDescriptorProto) {
			e := f.EnumType[1]
			e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String("STATE_NEW"), Number: proto.Int32(9)})
		}, false},
		{"another number", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "Object"), "area").Number = proto.Int32(99)
		}, true},
		{"another type", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "Object"), "area").Type = descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum()
		}, true},
		{"another message", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "Object"), "box").TypeName = proto.String(".segd.v1.Object")
		}, true},
		{"another enum", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "Object"), "state").TypeName = proto.String(".segd.v1.CaptureClock")
		}, true},
		{"one instead of many", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "MaskFrame"), "objects").Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		}, true},
		{"another name", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "Object"), "area").Name = proto.String("pixels")
		}, true},
		{"another name in JSON", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "MaskFrame"), "pts_ns").JsonName = proto.String("pts")
		}, true},
		{"a field less", func(f *descriptorpb.FileDescriptorProto) {
			m := message(f, "Object")
			m.Field = slices.DeleteFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == "area" })
		}, true},
		{"a message less", func(f *descriptorpb.FileDescriptorProto) {
			f.MessageType = slices.DeleteFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == "Event" })
		}, true},
		{"an enum value less", func(f *descriptorpb.FileDescriptorProto) { f.EnumType[1].Value = f.EnumType[1].Value[:2] }, true},
		{"an enum value of another name", func(f *descriptorpb.FileDescriptorProto) {
			f.EnumType[1].Value[1].Name = proto.String("STATE_SEEN")
		}, true},
		{"a field in a oneof", func(f *descriptorpb.FileDescriptorProto) {
			m := message(f, "Object")
			m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("size")}}
			field(m, "area").OneofIndex = proto.Int32(0)
		}, true},
		{"another package", func(f *descriptorpb.FileDescriptorProto) {
			f.Package = proto.String("segd.v2")
			for _, m := range f.MessageType {
				for _, field := range m.Field {
					if name, ours := strings.CutPrefix(field.GetTypeName(), ".segd.v1."); ours {
						field.TypeName = proto.String(".segd.v2." + name)
					}
				}
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := protodesc.ToFileDescriptorProto(segdv1.File_bus_segdv1_segd_proto)
			tt.change(f)
			file, err := protodesc.NewFile(f, protoregistry.GlobalFiles)
			require.NoError(t, err)
			if gone := without(before, promised(file)); (len(gone) > 0) != tt.breaks {
				t.Errorf("gone: %q; want breaks = %v", gone, tt.breaks)
			}
		})
	}
}

func message(f *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
	return f.MessageType[slices.IndexFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == name })]
}

func field(m *descriptorpb.DescriptorProto, name string) *descriptorpb.FieldDescriptorProto {
	return m.Field[slices.IndexFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name })]
}
