// Package wirelimit counts what a message of protobuf from outside holds before it is decoded. Two bytes can name
// an element that takes a hundred in memory, so a limit on bytes does not bound what they become. Limits are
// read from any goroutine.
package wirelimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ErrMany is wrapped by the error about a field of more values than Limits accept.
var ErrMany = errors.New("too many values")

// Limits are how many values a repeated field, or a map, may have in all of a message, with the messages inside, by
// the field's full name. One that is not named may have none. The messages may hold none of their own kind.
type Limits map[protoreflect.FullName]int

// Wire counts in a message in protobuf's binary form.
func (l Limits) Wire(data []byte, message protoreflect.MessageDescriptor) error {
	return counter{l, maps.Clone(l)}.message(data, message)
}

// JSON counts in a message in protobuf's JSON form.
func (l Limits) JSON(data []byte, message protoreflect.MessageDescriptor) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err := counter{l, maps.Clone(l)}.value(dec, message, nil)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Check tells which fields of messages, and of those inside, have no limit, and which limits are of no such field.
func (l Limits) Check(messages ...protoreflect.MessageDescriptor) error {
	there := map[protoreflect.FullName]bool{}
	var faults []error
	for _, message := range messages {
		for _, name := range repeated(message) {
			if !there[name] && l[name] == 0 {
				faults = append(faults, fmt.Errorf("%s has no limit", name))
			}
			there[name] = true
		}
	}
	for name := range l {
		if !there[name] {
			faults = append(faults, fmt.Errorf("%s has a limit, and is no such field", name))
		}
	}
	return errors.Join(faults...)
}

// repeated are the fields of a message, and of those inside, that Limits have to name.
func repeated(message protoreflect.MessageDescriptor) (names []protoreflect.FullName) {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if field.IsList() || field.IsMap() {
			names = append(names, field.FullName())
		}
		if field.Message() != nil {
			names = append(names, repeated(field.Message())...)
		}
	}
	return names
}

type counter struct {
	limits Limits
	left   Limits
}

// count takes n values of a field off what is left for it.
func (c counter) count(field protoreflect.FieldDescriptor, n int) error {
	name := field.FullName()
	left := c.left[name] - n
	if left < 0 {
		return fmt.Errorf("%s: %w; want at most %d", name, ErrMany, c.limits[name])
	}
	c.left[name] = left
	return nil
}

func (c counter) message(data []byte, message protoreflect.MessageDescriptor) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return protowire.ParseError(n)
		}
		value := data[:n]
		data = data[n:]
		field := message.Fields().ByNumber(number)
		if field == nil {
			continue // kept as it is
		}
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if field.IsList() || field.IsMap() {
			if err := c.count(field, elements(field, kind, value)); err != nil {
				return err
			}
		}
		if field.Message() != nil && kind == protowire.BytesType {
			if err := c.message(value, field.Message()); err != nil {
				return err
			}
		}
	}
	return nil
}

// elements is how many elements of a repeated field a value has: several where they are packed.
func elements(field protoreflect.FieldDescriptor, kind protowire.Type, value []byte) int {
	if kind != protowire.BytesType {
		return 1
	}
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		return 1
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return len(value) / 4
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return len(value) / 8
	}
	n := 0
	for _, b := range value {
		if b < 0x80 { // the last one of a varint
			n++
		}
	}
	return n
}

// value reads what comes next: a message, or what list or map field has; message is nil where it is neither, or of
// nothing that is known.
func (c counter) value(dec *json.Decoder, message protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch {
	case token == json.Delim('[') && field != nil && field.IsList():
		for dec.More() {
			if err := c.count(field, 1); err != nil {
				return err
			}
			if err := c.value(dec, field.Message(), nil); err != nil {
				return err
			}
		}
	case token == json.Delim('{') && field != nil && field.IsMap():
		for dec.More() {
			if _, err := dec.Token(); err != nil {
				return err
			}
			if err := c.count(field, 1); err != nil {
				return err
			}
			if err := c.value(dec, field.MapValue().Message(), nil); err != nil {
				return err
			}
		}
	case token == json.Delim('{') && message != nil:
		for dec.More() {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			inner := message.Fields().ByJSONName(name)
			if inner == nil {
				inner = message.Fields().ByTextName(name)
			}
			if inner == nil {
				err = c.value(dec, nil, nil)
			} else {
				err = c.value(dec, inner.Message(), inner)
			}
			if err != nil {
				return err
			}
		}
	case token == json.Delim('{'), token == json.Delim('['):
		return skip(dec)
	default:
		return nil
	}
	_, err = dec.Token() // the end
	return err
}

// skip reads to the end of a list or an object that has begun, however deep it is.
func skip(dec *json.Decoder) error {
	for depth := 1; depth > 0; {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}
