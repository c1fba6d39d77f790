package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/limit"
)

//go:generate go test -run TestReference . -update

// reference is made of Config: its fields' comments, defaults and environment
// variables.
const reference = "../docs/configuration.md"

var update = flag.Bool("update", false, "write "+reference)

var referenceHead = fmt.Sprintf(`# Configuration

<!-- Made of config/config.go by go generate ./config. Do not edit. -->

Every setting of segd's YAML file, for those who write one: `+"`"+`segd run -c segd.yaml`+"`"+` reads it.
[deploy/segd.example.yaml](../deploy/segd.example.yaml) is a start. `+"`"+`segd check -c segd.yaml`+"`"+` lists each fault with its line, and
tests whether the model loads and the cameras answer.

- Only `+"`"+`cameras`+"`"+` is required. Behind a setting's name stand its type and default.
- An environment variable overrides the file, also for `+"`"+`segd demo`+"`"+`: `+"`"+`SEGD_`+"`"+` and the setting's name in capitals, with `+"`"+`_`+"`"+`
  for dots, as `+"`"+`SEGD_HTTP_BASE_PATH`+"`"+` for `+"`"+`http.base_path`+"`"+`. Lists, and settings in them such as `+"`"+`cameras[]`+"`"+`, come from the file only.
- Unknown keys, and values of another type, are errors. Anchors, aliases and merged mappings (`+"`"+`<<: *name`+"`"+`) are read; put
  anchors of your own under top-level keys that begin with `+"`"+`x-`+"`"+`, such as `+"`"+`x-camera: &usual {transport: tcp}`+"`"+`.
- Relative paths start at the file's folder.
- A string has at most %d bytes. Names, URLs, paths, tokens and passwords have [other limits](api.md#limits), and so do
  [files](operations.md#files).
- Some changes [apply while segd runs](operations.md#change-the-configuration); others need a restart.
`, limit.MaxText)

// The page is what the code makes of it.
func TestReference(t *testing.T) {
	r := newReferrer(t)
	want := referenceHead + r.section("", reflect.ValueOf(*r.defaults))
	if *update {
		require.NoError(t, os.WriteFile(reference, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(reference)
	require.NoError(t, err)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s is not of this config.go; run go generate ./config:\n%s", reference, diff)
	}
}

// A comment that names a default names the one that is set, and each default has
// such a comment.
func TestDefaultsInComments(t *testing.T) {
	r := newReferrer(t)
	r.each("", reflect.ValueOf(*r.defaults), func(path string, field reflect.StructField, v reflect.Value, comment string) {
		if v.IsZero() || v.Kind() == reflect.Struct || v.Kind() == reflect.Slice || field.Name == "Name" || field.Name == "URL" {
			return
		}
		assert.Contains(t, comment, fmt.Sprintf("Default %#v", v.Interface()), "%s: the comment says", path)
	})
}

// referrer knows the comments of config.go and the defaults.
type referrer struct {
	t        *testing.T
	defaults *Config           // with one of what there are several
	types    map[string]string // comments by Go type
	fields   map[string]string // comments by Go type and field, with a dot between
	shared   map[string]string // by the same, the field before whose comment is of both
	told     map[string]string // where a type's settings are, by its name
}

func newReferrer(t *testing.T) *referrer {
	t.Helper()
	c, err := Parse("", []byte("cameras: [{name: a, url: 'whip:', zones: [{name: a, polygon: [[0, 0], [1, 0], [1, 1]]}], lines: [{name: a, points: [[0, 0], [1, 1]]}], rules: [{name: a, when: present, for: 1s, schedule: [{days: [mon]}]}], detect: {classes: [person], every: 1s}, privacy: {fill: [person]}}]\nprivacy: {fill: [person]}\nwhip: {ice_servers: [{url: 'stun:a'}]}\nwebhooks: [{name: a, url: 'http://a'}]\n"), nil)
	require.NoError(t, err)
	c.NATS.Users = make([]NATSUser, 1) // none is complete without a password
	c.Cameras[0].Rules[0].When, c.Cameras[0].Rules[0].For = "", ""
	r := &referrer{t: t, defaults: c, types: map[string]string{}, fields: map[string]string{}, shared: map[string]string{}, told: map[string]string{}}
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			name := spec.(*ast.TypeSpec).Name.Name
			r.types[name] = flat(gen.Doc)
			if s, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
				r.structure(name, s)
			}
		}
	}
	return r
}

func (r *referrer) structure(name string, s *ast.StructType) {
	before, of := "", ""
	for _, f := range s.Fields.List {
		comment := flat(f.Doc)
		for _, id := range f.Names {
			if comment == "" && strings.Contains(before, " and "+id.Name) {
				comment = before // "Mean and Std, …" is said once
				r.shared[name+"."+id.Name] = of
			}
			of = id.Name
			r.fields[name+"."+id.Name] = comment
		}
		before = comment
	}
}

func flat(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// each visits the settings of a struct and of those within it.
func (r *referrer) each(path string, v reflect.Value, visit func(path string, field reflect.StructField, v reflect.Value, comment string)) {
	for i, key := range keys(v.Type()) {
		field, value, at := v.Type().Field(i), v.Field(i), join(path, key)
		visit(at, field, value, r.fields[v.Type().Name()+"."+field.Name])
		switch {
		case value.Kind() == reflect.Struct:
			r.each(at, value, visit)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			r.each(at+"[]", value.Index(0), visit)
		}
	}
}

// section is the settings of a struct as a list, and those of what is within it
// as sections after it.
func (r *referrer) section(path string, v reflect.Value) string {
	var list, after strings.Builder
	for i, key := range keys(v.Type()) {
		field, value, at := v.Type().Field(i), v.Field(i), join(path, key)
		comment := r.fields[v.Type().Name()+"."+field.Name]
		switch {
		case value.Kind() == reflect.Struct:
			after.WriteString(r.heading(at, comment, value.Type(), v.Type()) + r.once(at, value))
			continue
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			at += "[]"
			after.WriteString(r.heading(at, comment, value.Type().Elem(), v.Type()) + r.once(at, value.Index(0)))
			continue
		}
		if comment == "" {
			r.t.Errorf("%s has no comment", at)
		}
		text := r.prose(withoutDefault(comment, value), v.Type())
		if rest, ok := strings.CutPrefix(text, "`"+key+"` "); ok && !strings.HasPrefix(rest, "and ") {
			text = rest
		}
		if first, ok := r.shared[v.Type().Name()+"."+field.Name]; ok {
			other, _ := v.Type().FieldByName(first)
			text = "see `" + other.Tag.Get("yaml") + "`."
		}
		standard := r.standard(field, value)
		if standard != "" {
			standard = ", " + standard
		}
		fmt.Fprintf(&list, "- `%s` (%s%s): %s\n", key, kindOf(value.Type()), standard, text)
	}
	if list.Len() > 0 {
		return "\n" + list.String() + after.String()
	}
	return after.String()
}

// once is the section of a struct, or where that of its type is.
func (r *referrer) once(path string, v reflect.Value) string {
	name := v.Type().Name()
	if at, ok := r.told[name]; ok {
		return fmt.Sprintf("\nIts settings are those of [%s](#%s).\n", at, strings.NewReplacer(".", "", "[]", "").Replace(at))
	}
	r.told[name] = path
	return r.section(path, v)
}

var literalDefault = regexp.MustCompile(`\s*Default (none|all|"[^"]*"|[\d.]+|true|false)(\.|; |: |,? of )`)

// withoutDefault is a comment without the default that stands beside the type, or that is none.
func withoutDefault(comment string, v reflect.Value) string {
	m := literalDefault.FindStringSubmatchIndex(comment)
	if m == nil || comment[m[4]:m[5]] != "." {
		return comment
	}
	if comment[m[2]:m[3]] == "none" || v.Kind() != reflect.Slice && !v.IsZero() || v.Kind() == reflect.Bool || v.Kind() == reflect.Int {
		return comment[:m[0]] + comment[m[1]:]
	}
	return comment
}

func (r *referrer) heading(path, comment string, of, in reflect.Type) string {
	text := r.prose(r.types[of.Name()], of)
	if comment != "" {
		text = r.prose(comment, in)
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	return fmt.Sprintf("\n## %s\n\n%s\n", path, text)
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + map[string]string{"string": "strings", "number": "numbers", "list of numbers": "points", "list of points": "polygons"}[kindOf(t.Elem())]
	case reflect.String:
		return "string"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	}
	return t.String()
}

// standard is a setting's default; none for what is unset, or required.
func (r *referrer) standard(field reflect.StructField, v reflect.Value) string {
	if v.IsZero() && v.Kind() != reflect.Bool || v.Kind() == reflect.Slice || field.Name == "Name" || field.Name == "URL" {
		return ""
	}
	return fmt.Sprintf("`%v`", v.Interface())
}

var goNames = regexp.MustCompile(`\b(HTTP|WHIP|NATS|Model|Detector|Tracker|Log)(?:\.([A-Z]\w*)|'s (token))`)

// prose is a Go comment with the settings' names for Go's.
func (r *referrer) prose(comment string, of reflect.Type) string {
	for i, key := range keys(of) {
		name := of.Field(i).Name
		for _, verb := range []string{" is ", " are ", ": "} {
			if rest, ok := strings.CutPrefix(comment, name+verb); ok {
				comment = rest // the key stands before it
			}
		}
		if rest, ok := strings.CutPrefix(comment, name+" "); ok {
			comment = "`" + key + "` " + rest
		}
		comment = strings.Replace(comment, "` and "+name, "` and `"+key+"`", 1)
	}
	if rest, ok := strings.CutPrefix(comment, of.Name()+" "); ok {
		comment = "This " + rest
	}
	comment = goNames.ReplaceAllStringFunc(comment, func(s string) string {
		m := goNames.FindStringSubmatch(s)
		return "`" + strings.ToLower(m[1]) + "." + strings.ToLower(m[2]+m[3]) + "`"
	})
	comment = regexp.MustCompile(`\bAddr\b`).ReplaceAllString(comment, "`addr`")
	comment = regexp.MustCompile(`docs/(\w+\.md)`).ReplaceAllString(comment, "[$1]($1)")
	return comment
}
