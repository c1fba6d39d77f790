package bus

import (
	"errors"
	"fmt"
	"mime"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
)

// The media types in the Content-Type header of every message. Protobuf's has
// the message's full name as a parameter: application/x-protobuf;
// message=segd.v1.MaskFrame.
const (
	TypeProtobuf = "application/x-protobuf"
	TypeJSON     = "application/json"
	TypePNG      = "image/png"  // of an annotation only
	TypeJPEG     = "image/jpeg" // of a snapshot only
)

const headerContentType = "Content-Type"

// ErrMessage is in the chain of the error about a message that cannot be
// decoded, or not all of it (ErrObjects).
var ErrMessage = errors.New("bus: bad message")

// ErrObjects is in the chain, beside ErrMessage, of the error about a MaskFrame of which objects
// alone are such as segd would not send. What was decoded is without them and can be used.
var ErrObjects = errors.New("objects are left out")

// contentType returns the Content-Type header of m in protobuf or JSON. A message's name is a
// token of media types, so it stands without quotes.
func contentType(m proto.Message, json bool) string {
	if json {
		return TypeJSON
	}
	if of, published := contentTypes[messageName(m)]; published {
		return of
	}
	return protobufOf(m)
}

func protobufOf(m proto.Message) string { return TypeProtobuf + "; message=" + messageName(m) }

// contentTypes are those of the messages that are published all the time, by name.
var contentTypes = map[string]string{}

func init() {
	for _, m := range []proto.Message{&segdv1.MaskFrame{}, &segdv1.Status{}, &segdv1.Event{}} {
		contentTypes[messageName(m)] = protobufOf(m)
	}
}

func messageName(m proto.Message) string {
	return string(m.ProtoReflect().Descriptor().FullName())
}

// marshal appends m to dst in protobuf or JSON.
func marshal(dst []byte, m proto.Message, json bool) ([]byte, error) {
	if json {
		return protojson.MarshalOptions{EmitDefaultValues: true}.MarshalAppend(dst, m)
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

// Unmarshal decodes a message of the given Content-Type into m. An empty
// contentType means protobuf. Fields m does not know, of a newer segd, are kept
// (protobuf) or ignored (JSON). Errors wrap ErrMessage. Where single objects of a MaskFrame are
// at fault the error wraps ErrObjects too, and m is the frame without them: a caller who wants the others
// goes on with it.
//
// data may be anything, from anybody. What m then holds is such as segd sends: site and
// camera are names by CheckName, a picture's size is one that segd decodes, objects
// have rising ids from 1 and are 255 at most, each counts is a mask of that size, and no extent reaches
// farther outside than that size. Labels and other
// text for people may hold any character: escape it for a terminal or a page.
func Unmarshal(contentType string, data []byte, m proto.Message) error {
	media, name := TypeProtobuf, ""
	if contentType != "" {
		parsed, params, err := mime.ParseMediaType(contentType)
		if err != nil {
			return fmt.Errorf("%w: %s %q: %w", ErrMessage, headerContentType, contentType, err)
		}
		media, name = parsed, params["message"]
	}
	if name != "" && name != messageName(m) {
		return fmt.Errorf("%w: it is a %s, want a %s", ErrMessage, name, messageName(m))
	}
	var err error
	switch media {
	case TypeProtobuf:
		if err = limits.Wire(data, m.ProtoReflect().Descriptor()); err == nil {
			err = proto.Unmarshal(data, m)
		}
	case TypeJSON:
		if err = limits.JSON(data, m.ProtoReflect().Descriptor()); err == nil {
			err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
		}
	default:
		return fmt.Errorf("%w: %s %q, want %s or %s", ErrMessage, headerContentType, contentType, TypeProtobuf, TypeJSON)
	}
	if err != nil {
		return fmt.Errorf("%w: %d bytes of %s: %w", ErrMessage, len(data), messageName(m), err)
	}
	if err := check(m); err != nil {
		return fmt.Errorf("%w: a %s that segd would not send: %w", ErrMessage, messageName(m), err)
	}
	if m, ok := m.(*segdv1.MaskFrame); ok {
		if n, err := leaveOut(m); n > 0 {
			return fmt.Errorf("%w: frame %d of %s: %w, %d that segd would not send: %w", ErrMessage, m.GetSequence(), m.GetCamera(), ErrObjects, n, err)
		}
	}
	return nil
}
