package attack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/segd/segd/bus"
)

// site is segd's.
const site = "home"

// The cameras: the second is another box's where there are two, the third was added while segd ran, and the last comes
// and goes.
const (
	gate, yard, porch, spare = "gate", "yard", "porch", "spare"
)

// marker is in every text that an attack sends, so that it is known wherever it comes out.
const marker = "attack-7c1f"

// streams are segd's.
var streams = []string{
	bus.StreamName(site, bus.KindEvent), bus.StreamName(site, bus.KindMask), bus.StreamName(site, bus.KindPicture),
	"KV_" + bus.CamerasBucket(site), "KV_segd_" + site + "_fleet", "OBJ_" + bus.CheckpointBucket(site),
}

// try is a message that is published. Without a reply it gets one that is the attacker's own.
type try struct {
	subject, reply string
	payload        string
}

// literal is what a string of nats-server's source has to look like to be a subject of its own: with fields to
// be filled in, and perhaps without its end.
var literal = regexp.MustCompile(`^\$[A-Z_]+\.([A-Z0-9_]+|%s|\*|>|\.)+$`)

// serverSubjects returns all subjects that the source of nats-server, of the version in go.mod, names. So those of a newer
// version are tried too.
func serverSubjects(root string) ([]string, error) {
	list := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/nats-io/nats-server/v2/server")
	list.Dir = filepath.Join(root, "e2e")
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("where nats-server's source is: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && literal.MatchString(text) {
					found[strings.NewReplacer("*", "%s", ">", "%s").Replace(text)] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// fill returns a subject for every way to fill in the fields of pattern; server is the server's ID.
func fill(pattern, server string) []string {
	if strings.HasSuffix(pattern, ".") {
		pattern += "%s"
	}
	fields := [][]string{streams, append([]string{marker}, roles...)}
	if strings.HasPrefix(pattern, "$SYS") {
		fields = [][]string{{server, "$G", "SEGD", "STATSZ"}, {"KICK", "RELOAD", "JSZ"}}
	}
	all := []string{pattern}
	for i := 0; strings.Contains(all[0], "%s"); i++ {
		with := []string{"x"}
		if i < len(fields) {
			with = fields[i]
		}
		var next []string
		for _, s := range all {
			for _, w := range with {
				next = append(next, strings.Replace(s, "%s", w, 1))
			}
		}
		all = next
	}
	return all
}

// kinds are the last tokens of segd's subjects of a camera.
var kinds = []bus.Kind{
	bus.KindMask, bus.KindEvent, bus.KindStatus,
	bus.KindAnnotate, bus.KindClear, bus.KindRename, bus.KindObjects, bus.KindSnapshot, bus.KindState, "x", "event.store", bus.KindPicture + ".x",
}

// ofSite are the rest of segd's subjects of a site.
var ofSite = []string{
	"reload", "claim", "forgotten", "camera.add", "camera.set", "camera.remove", "camera.list",
	"fleet.show", "fleet.cordon", "fleet.drain", "fleet.uncordon", "fleet.move",
}

// segdSubjects are segd's, those of another site, and what its buckets and inboxes are.
func segdSubjects() (all []string) {
	for _, at := range []string{site, "there"} {
		for _, camera := range []string{gate, yard, porch, "x"} {
			for _, kind := range kinds {
				all = append(all, "segd.v1."+at+"."+camera+"."+string(kind))
			}
		}
		for _, rest := range ofSite {
			all = append(all, "segd.v1."+at+"."+rest)
		}
		for _, rest := range []string{"x", "box-a", "box-b", "http.box-a", "http.box-b"} {
			all = append(all, "segd.fleet.v1."+at+"."+rest)
		}
	}
	for _, key := range []string{gate, yard, porch, "x"} {
		all = append(all, "$KV."+bus.CamerasBucket(site)+"."+key, "$KV.segd_"+site+"_fleet.camera."+key,
			"$O."+bus.CheckpointBucket(site)+".M."+key, "$O."+bus.CheckpointBucket(site)+".C."+key)
	}
	for _, stream := range streams {
		for _, consumer := range append([]string{marker}, roles...) {
			all = append(all, "$JS.ACK."+stream+"."+consumer+".1.1.1.1.0", "$JS.ACK._.x."+stream+"."+consumer+".1.1.1.1.0.x",
				"$JS.FC."+stream+"."+consumer+".x", "$JS.FC._.x."+stream+"."+consumer+".x")
		}
	}
	return append(all, "$KV.segd_"+site+"_fleet.box.box-a", "_INBOX.x.1", "_INBOX.segd.1", "_INBOX_segd.1", "_R_.x", "_R_.x.1", "_GR_.x", "$SRV.PING", "$SRV.PING.segd", "$SRV.x", "anything")
}

// allSubjects are those of serverSubjects, filled in, and segd's.
func allSubjects(root, server string) ([]string, error) {
	patterns, err := serverSubjects(root)
	if err != nil {
		return nil, err
	}
	all := segdSubjects()
	for _, p := range patterns {
		all = append(all, fill(p, server)...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// targets are where an answer would do harm: there it would be a command, a mask, an event, a camera that is kept, a
// checkpoint, a lease, a request to JetStream, or another client's answer.
func targets() []string {
	return []string{
		"segd.v1.home.gate.mask", "segd.v1.home.gate.event", "segd.v1.home.gate.event.store", "segd.v1.home.gate.status", "segd.v1.home.gate.clear", "segd.v1.home.yard.clear",
		"segd.v1.home.gate.x", "segd.v1.home.reload", "segd.v1.home.claim", "segd.v1.home.forgotten", "segd.v1.there.gate.mask", "segd.fleet.v1.home.x",
		"$KV.segd_home_cameras.porch", "$KV.segd_home_cameras.x", "$KV.segd_home_fleet.camera.gate", "$KV.segd_home_fleet.box.box-a",
		"$O.segd_home_checkpoints.M.x", "$O.segd_home_checkpoints.C.x",
		"$JS.API.STREAM.PURGE.segd_home_event", "$JS.API.STREAM.DELETE.segd_home_mask", "$JS.API.CONSUMER.DELETE.segd_home_event.operator",
		"$SYS.REQ.SERVER.PING", "_INBOX.witness.1", "_R_.x.1",
	}
}

// payloads are what would do harm if a message on subject were taken.
func payloads(subject string) []string {
	rest, _ := strings.CutPrefix(subject, "$JS.API.")
	tokens := strings.Split(rest, ".")
	last := tokens[len(tokens)-1]
	object := func(v map[string]any) string { data, _ := json.Marshal(v); return string(data) }
	stream := func() string {
		for _, t := range tokens {
			if slices.Contains(streams, t) {
				return t
			}
		}
		return marker
	}()
	switch {
	case strings.HasPrefix(rest, "STREAM.CREATE"), strings.HasPrefix(rest, "STREAM.UPDATE"):
		return []string{object(map[string]any{"name": stream, "subjects": []string{"segd.v1.home.>"}, "max_msgs": 1, "storage": "memory", "num_replicas": 1})}
	case strings.HasPrefix(rest, "STREAM.RESTORE"):
		return []string{object(map[string]any{"config": map[string]any{"name": stream, "subjects": []string{"segd.v1.home.>"}}, "state": map[string]any{}})}
	case strings.HasPrefix(rest, "STREAM.SNAPSHOT"):
		return []string{object(map[string]any{"deliver_subject": "segd.v1.home.gate.clear"})}
	case strings.HasPrefix(rest, "STREAM.MSG"), strings.HasPrefix(rest, "DIRECT"):
		return []string{`{"seq":1}`}
	case strings.HasPrefix(rest, "CONSUMER.CREATE"), strings.HasPrefix(rest, "CONSUMER.DURABLE"):
		var all []string
		for _, deliver := range []string{"segd.v1.home.gate.clear", "segd.v1.home.gate.mask", "$KV.segd_home_cameras.porch", ""} {
			config := map[string]any{"ack_policy": "none", "deliver_policy": "all", "replay_policy": "instant", "deliver_subject": deliver}
			if strings.HasPrefix(rest, "CONSUMER.DURABLE") {
				config["durable_name"] = last
			} else if len(tokens) > 3 {
				config["name"] = tokens[3]
			}
			all = append(all, object(map[string]any{"stream_name": stream, "config": config}))
		}
		return all
	case strings.HasPrefix(rest, "CONSUMER.PAUSE"):
		return []string{`{"pause_until":"2100-01-01T00:00:00Z"}`}
	case strings.HasPrefix(rest, "CONSUMER.MSG.NEXT"):
		return []string{`{"batch":2,"no_wait":true}`, `{"batch":1,"expires":1000000000}`}
	case strings.HasPrefix(subject, "$JS.ACK"):
		return []string{"+WPI", "+NXT", "-NAK", "+TERM", "+ACK"}
	case strings.HasSuffix(subject, ".camera.add"):
		return []string{`{"name":"` + marker + `","url":"whip:"}`}
	case strings.HasSuffix(subject, ".camera.set"):
		return []string{`{"name":"porch","paused":true}`}
	case strings.HasSuffix(subject, ".camera.remove"):
		return []string{`{"name":"porch"}`}
	case strings.Contains(subject, ".fleet."):
		return []string{`{"box":"box-a","camera":"gate"}`, `{"box":"box-a"}`}
	case strings.HasSuffix(subject, ".rename"):
		return []string{`{"id":1,"label":"` + marker + `"}`}
	case strings.HasPrefix(subject, "$KV."), strings.HasPrefix(subject, "$O."), strings.HasPrefix(subject, "segd."), strings.HasPrefix(subject, "_"):
		return []string{"", marker}
	case strings.HasPrefix(rest, "ACCOUNT"), strings.HasPrefix(rest, "META"), strings.HasPrefix(rest, "SERVER"), strings.HasPrefix(subject, "$SYS"):
		return []string{"", "{}"}
	}
	return []string{cmp.Or(map[string]string{"LIST": `{"offset":0}`, "NAMES": `{"offset":0}`}[last], "")}
}

// forbidden are the tries that a role may not make.
func forbidden(subjects []string, may rights) (all []try) {
	for _, subject := range subjects {
		if may.mayAsk(subject) {
			continue
		}
		for _, payload := range payloads(subject) {
			all = append(all, try{subject: subject, payload: payload})
		}
	}
	return all
}

// harmless are requests that a role may make and that change nothing wherever the answer goes.
func harmless(role string, may rights) (all []try) {
	add := func(subject string, payloads ...string) {
		if !may.mayAsk(subject) {
			return
		}
		for _, p := range payloads {
			all = append(all, try{subject: subject, payload: p})
		}
	}
	add("$JS.API.INFO", "")
	for _, stream := range streams[:2] {
		add("$JS.API.STREAM.INFO."+stream, "", `{"subjects_filter":">"}`, marker)
		add("$JS.API.STREAM.MSG.GET."+stream, `{"seq":1}`, `{"last_by_subj":"segd.v1.home.gate.mask"}`, `{"last_by_subj":"segd.v1.home.gate.event.store"}`, marker)
		of := stream + "." + role
		add("$JS.API.CONSUMER.INFO."+of, "", marker)
		add("$JS.API.CONSUMER.MSG.NEXT."+of, `{"batch":2,"no_wait":true}`, `{"batch":1,"expires":1000000000}`, marker)
		add("$JS.ACK."+of+".1.1.1.1.0", "+WPI", "+NXT", "-NAK", `+NXT {"batch":2,"no_wait":true}`, marker)
		add("$JS.ACK._.x."+of+".1.1.1.1.0.x", "+WPI", "+NXT", "-NAK", marker)
	}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		add("$SRV."+verb, "")
		add("$SRV."+verb+".segd", "")
	}
	for _, kind := range []bus.Kind{bus.KindObjects, bus.KindSnapshot, bus.KindState} {
		add("segd.v1.home.gate."+string(kind), "")
	}
	add("segd.v1.home.gate.annotate", "", marker)
	add("segd.v1.home.gate.rename", marker)
	add("segd.v1.home.gate.clear", marker, "{}")
	add("segd.v1.home.camera.list", "")
	add("segd.v1.home.camera.add", marker, "{}")
	add("segd.v1.home.camera.remove", marker, `{"name":"`+marker+`"}`)
	add("segd.v1.home.fleet.show", "")
	add("segd.v1.home.fleet.drain", marker, "{}")
	add("segd.v1.home.reload", marker)
	return all
}

// elsewhere are the harmless requests, each with its answer sent to every target; those that are commands the
// server's answers would be.
func elsewhere(role string, may rights) (all []try) {
	for _, h := range harmless(role, may) {
		for _, target := range targets() {
			all = append(all, try{h.subject, target, h.payload})
		}
	}
	return all
}
