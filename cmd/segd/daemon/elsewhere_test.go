package daemon

import (
	"strings"
	"testing"

	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
)

// One token or another site makes another fleet.
func TestBoxSecret(t *testing.T) {
	known := map[string]bool{}
	for _, of := range [][]string{
		{"home", "a", "b", "c"}, {"yard", "a", "b", "c"}, {"home", "x", "b", "c"}, {"home", "a", "x", "c"}, {"home", "a", "b", "x"},
		{"home", "b", "a", "c"}, {"home", "", "b", "c"}, {"home", "", "", ""}, {"home", "a\",\"b", "", "c"},
	} {
		secret, err := boxSecret(&config.Config{Site: of[0], HTTP: config.HTTP{Token: of[1], ViewerToken: of[2]}, WHIP: config.WHIP{Token: of[3]}})
		if err != nil || known[string(secret)] {
			t.Errorf("%q: %s %v; want one of its own", of, secret, err)
		}
		known[string(secret)] = true
	}
}

func TestAddressFrom(t *testing.T) {
	for _, tt := range []struct {
		to    fleet.Box
		fault string
	}{
		{fleet.Box{Host: "there", Address: "http://192.0.2.7:8080/"}, ""},
		{fleet.Box{Host: "here", Address: "http://127.0.0.1:8081/"}, ""},
		{fleet.Box{Host: "there", Address: "http://127.0.0.1:8080/"}, "of its own machine only; accepts another http.addr there, or a fleet.address"},
		{fleet.Box{Host: "there", Version: "0.1.0"}, "at which address (segd 0.1.0)"},
	} {
		got, err := addressFrom("here", tt.to)
		if (tt.fault == "") != (err == nil) || err == nil && got != tt.to.Address || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%+v: %q %v; want fault %q", tt.to, got, err, tt.fault)
		}
	}
}
