package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/nearest"
	"github.com/segd/segd/internal/redact"
)

// decoder walks the YAML tree beside the Go types. The library's own decoder
// stops at the first fault; a file is mended faster when all are named.
type decoder struct {
	file   string
	faults Faults
	// source is where each setting was written, by path, for the faults that
	// only show once all is read.
	source map[string]place
	// numbers are where one stands for a text, and what is wrong with that if the text is none of its own.
	numbers []Fault
	anchors map[string]*ast.AnchorNode
	values  int // that were read
	// readable says that the file is YAML, so that it makes sense to judge values.
	readable bool
}

// text stores s in dst, a text that is not too long.
func (d *decoder) text(at place, path, s string, dst reflect.Value) {
	if why := limit.TooLong(path, s); why != "" {
		d.fault(at, path, "%s", why)
		return
	}
	dst.SetString(s)
}

func (d *decoder) fault(at place, path, format string, args ...any) {
	d.faults = append(d.faults, newFault(at, path, format, args...))
}

func newFault(at place, path, format string, args ...any) Fault {
	return Fault{
		File: at.file, Line: at.line, Column: at.column,
		Path: path, Message: limit.Cut(redact.Text(fmt.Sprintf(format, args...)), limit.MaxLogged),
	}
}

func (d *decoder) document(text []byte, dst *Config) {
	file, err := parse(bytes.TrimPrefix(text, []byte("\uFEFF"))) // a byte order mark, as editors of Windows write it
	if err != nil {
		at := place{file: d.file}
		message := err.Error()
		var positioned yaml.Error
		if errors.As(err, &positioned) {
			message = positioned.GetMessage()
			if tok := positioned.GetToken(); tok != nil && tok.Position != nil {
				at.line, at.column = tok.Position.Line, tok.Position.Column
			}
		}
		d.fault(at, "", "not YAML: %s", message)
		return
	}
	d.readable = true
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) > 0 { // an empty file leaves everything at its default
		d.anchored(bodies[0])
		d.value("", bodies[0], reflect.ValueOf(dst).Elem())
	}
	if len(bodies) > 1 {
		d.fault(d.at(bodies[1]), "", "a second YAML document; one is accepted")
	}
}

// parse turns a panic of the library, which hostile input has been seen to
// cause, into an error.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, fmt.Errorf("the YAML library cannot read it (%v)", r)
		}
	}()
	return parser.ParseBytes(text, 0)
}

func (d *decoder) at(n ast.Node) place {
	p := place{file: d.file}
	tok := n.GetToken()
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		tok = m.Values[0].Key.GetToken() // its own token is the first colon
	} else if m, ok := n.(*ast.MappingValueNode); ok {
		tok = m.Key.GetToken()
	}
	if tok != nil && tok.Position != nil {
		p.line, p.column = tok.Position.Line, tok.Position.Column
	}
	return p
}

// value stores node n in dst, or says why it cannot.
func (d *decoder) value(path string, n ast.Node, dst reflect.Value) {
	n, ok := d.resolve(path, n)
	if !ok {
		return
	}
	at := d.at(n)
	if path != "" {
		d.source[path] = at
	}
	switch n.(type) {
	case *ast.TagNode:
		d.fault(at, path, "%s; plain values only are accepted", n.Type())
		return
	case *ast.NullNode:
		return // "key:" with nothing after it leaves the default
	}
	switch dst.Kind() {
	case reflect.Struct:
		d.object(path, n, dst)
	case reflect.Slice:
		d.list(path, n, dst)
	default:
		d.scalar(path, n, dst)
	}
}

func (d *decoder) object(path string, n ast.Node, dst reflect.Value) {
	pairs, ok := d.pairs(path, n, 0)
	if !ok {
		d.fault(d.at(n), path, "%s; accepted: a mapping with the keys %s",
			describe(n), strings.Join(keys(dst.Type()), ", "))
		return
	}
	read := map[string]bool{}
	for _, pair := range pairs {
		// Not Key.String: the library's spelling of a key may carry quotes.
		key := pair.Key.GetToken().Value
		if read[key] || path == "" && strings.HasPrefix(key, extension) {
			continue
		}
		read[key] = true
		index := slices.Index(keys(dst.Type()), key)
		if index < 0 {
			hint := nearest.Hint(key, keys(dst.Type()))
			if path == "" && len(ast.Filter(ast.AnchorType, pair.Value)) > 0 {
				hint = fmt.Sprintf(" (a key of your own, for anchors, has to begin with %s, such as %s)", extension, clip(extension+key))
			}
			d.fault(d.at(pair), path, "unknown key %q%s; accepted: %s", clip(key), hint, strings.Join(keys(dst.Type()), ", "))
			continue
		}
		d.value(join(path, key), pair.Value, dst.Field(index))
	}
}

func (d *decoder) list(path string, n ast.Node, dst reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fault(d.at(n), path, "%s; accepted: a list", describe(n))
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		d.value(fmt.Sprintf("%s[%d]", path, i), item, dst.Index(i))
	}
}

func (d *decoder) scalar(path string, n ast.Node, dst reflect.Value) {
	at := d.at(n)
	switch dst.Kind() {
	case reflect.String:
		switch n := n.(type) {
		case *ast.StringNode:
			d.text(at, path, n.Value, dst)
			return
		case *ast.LiteralNode:
			d.text(at, path, n.Value.Value, dst)
			return
		case *ast.IntegerNode, *ast.FloatNode:
			// Quotes help only where the number may be a text.
			d.text(at, path, n.GetToken().Value, dst)
			d.numbers = append(d.numbers, newFault(at, path, "%s; accepted: %s", describe(n), kindName(dst.Kind())))
			return
		}
	case reflect.Int:
		if n, ok := n.(*ast.IntegerNode); ok {
			if v, ok := n.Value.(int64); ok && int64(int(v)) == v {
				dst.SetInt(v)
				return
			}
			if v, ok := n.Value.(uint64); ok && v <= 1<<31-1 {
				dst.SetInt(int64(v))
				return
			}
		}
	case reflect.Float64:
		switch n := n.(type) {
		case *ast.FloatNode:
			dst.SetFloat(n.Value)
			return
		case *ast.IntegerNode:
			switch v := n.Value.(type) {
			case int64:
				dst.SetFloat(float64(v))
			case uint64:
				dst.SetFloat(float64(v))
			}
			return
		}
	case reflect.Bool:
		if n, ok := n.(*ast.BoolNode); ok {
			dst.SetBool(n.Value)
			return
		}
	}
	d.fault(at, path, "%s; accepted: %s", describe(n), kindName(dst.Kind()))
}

// keys are the YAML names of a struct's fields, in order.
func keys(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// describe names what was found, short enough for one line.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "found a mapping"
	case *ast.SequenceNode:
		return "found a list"
	case *ast.StringNode:
		return fmt.Sprintf("found the text %q", clip(n.Value))
	case *ast.LiteralNode:
		return "found a block of text"
	case *ast.NullNode:
		return "found nothing"
	}
	word := n.GetToken().Value
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "found the number " + clip(word)
	case *ast.BoolNode:
		return "found " + clip(word)
	}
	return "found " + strings.ToLower(n.Type().String())
}

// clip shortens what was found, without the secrets of a URL: cut off it would not
// be known for one.
func clip(s string) string {
	const most = 60
	s = shown(s)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "text (put it in quotes if it looks like a number)"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "true or false"
	}
}
