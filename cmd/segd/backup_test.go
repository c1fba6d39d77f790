package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/segd/segd/demo"
	"github.com/segd/segd/internal/cli/clitest"
)

// square is an annotation of the red square in the frame that comes next.
var square = strings.Replace(squareAnnotation, `"frame": 0, `, "", 1)

// follows has a camera follow the square, and waits until it is kept.
func (a *adding) follows(name string) {
	a.t.Helper()
	a.up(name)
	a.want(http.StatusOK, http.MethodPost, "/"+name+"/annotations", square)
	clitest.Until(a.t, time.Minute, "checkpoints of "+name, func() bool {
		objects := a.keptObjects()
		return slices.Contains(objects, name+".0") && slices.Contains(objects, name+".short")
	})
}

// keptObjects are the names of the objects in the store of checkpoints.
func (a *adding) keptObjects() (names []string) {
	a.t.Helper()
	nc, err := nats.Connect("nats://" + a.nats)
	if err != nil {
		a.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		a.t.Fatal(err)
	}
	store, err := js.ObjectStore(a.t.Context(), "segd_home_checkpoints")
	if err != nil {
		return nil
	}
	list, err := store.List(a.t.Context())
	if err != nil {
		return nil
	}
	for _, o := range list {
		names = append(names, o.Name)
	}
	return names
}

// What was known of a camera that was added goes with it; of one that is taken out of the configuration it
// stays, and is there again when it comes back.
func TestCheckpointsOfRemovedCameras(t *testing.T) {
	t.Parallel()
	url := camera(t, demo.Config{}).URL()
	gate := "{name: gate, transport: tcp, url: '" + url + "'}"
	a, _ := keeping(t, gate)
	a.start()
	yard := fmt.Sprintf(`{"name": "yard", "url": %q, "transport": "tcp"}`, url)
	a.want(http.StatusCreated, http.MethodPost, "", yard)
	a.follows("yard")
	a.follows("gate")
	a.want(http.StatusNoContent, http.MethodDelete, "/yard", "")
	of := func(camera string) bool {
		return slices.ContainsFunc(a.keptObjects(), func(name string) bool { return strings.HasPrefix(name, camera+".") })
	}
	if of("yard") || !of("gate") {
		t.Errorf("after the removal there are %q", a.keptObjects())
	}
	a.write("{name: other, url: 'whip:'}")
	a.reloaded()
	if !of("gate") {
		t.Errorf("after gate was taken out there are %q", a.keptObjects())
	}
	a.want(http.StatusCreated, http.MethodPost, "", yard)
	a.up("yard")
	if text := a.want(http.StatusOK, http.MethodGet, "/yard/objects", ""); strings.Contains(text, "square") {
		t.Errorf("the new camera knows of the old one's: %s", text)
	}
	a.write(gate)
	a.reloaded()
	a.up("gate")
	clitest.Until(t, 30*time.Second, "gate's square", func() bool {
		return strings.Contains(a.want(http.StatusOK, http.MethodGet, "/gate/objects", ""), "square")
	})
}
