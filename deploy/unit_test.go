package deploy

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The service's user owns the folders that systemd makes for the service. What root writes there goes wherever
// that user has a link lead to, so that nothing of the unit runs with root's rights, and no shell at all.
func TestUnitHasNoRoot(t *testing.T) {
	files, err := filepath.Glob("systemd/*.service")
	if err != nil || len(files) == 0 {
		t.Fatalf("no units: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range rootFaults(string(text)) {
			t.Errorf("%s: %s", file, fault)
		}
	}
}

var (
	setting = regexp.MustCompile(`^([A-Za-z]+)\s*=\s*(.*)$`)
	shells  = []string{"sh", "bash", "dash", "zsh", "busybox", "env", "su", "sudo", "runuser", "setpriv", "perl", "python3"}
)

// rootFaults are what a unit does with root's rights that it should not.
func rootFaults(unit string) (faults []string) {
	user := ""
	for line := range strings.Lines(strings.ReplaceAll(unit, "\\\n", " ")) {
		m := setting.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		name, value := m[1], m[2]
		switch {
		case name == "User":
			user = value
		case name == "DynamicUser" && value == "yes" && user == "":
			user = "a dynamic one"
		case name == "PermissionsStartOnly":
			faults = append(faults, line+" gives root's rights to commands beside the service's")
		case strings.HasPrefix(name, "Exec") && value != "":
			command := strings.TrimLeft(value, "@-:+!|")
			prefix := strings.TrimSuffix(value, command)
			if strings.ContainsAny(prefix, "+!") {
				faults = append(faults, fmt.Sprintf("%s runs with root's rights: %s", name, value))
			}
			if words := strings.Fields(command); len(words) > 0 && slices.Contains(shells, path.Base(words[0])) {
				faults = append(faults, fmt.Sprintf("%s runs by way of %s: %s", name, words[0], value))
			}
		}
	}
	if user == "" || user == "root" || user == "0" {
		faults = append(faults, "no User= but root's")
	}
	return faults
}

// The judge is judged, by what the unit of 0.1.0 had among others.
func TestRootFaults(t *testing.T) {
	const good = "[Service]\nUser=_segd\nExecStart=/usr/bin/segd run\nExecReload=/bin/kill -HUP $MAINPID\n"
	for _, tt := range []struct {
		name, unit string
		want       int
	}{
		{"good", good, 0},
		{"dynamic", strings.Replace(good, "User=_segd", "DynamicUser=yes", 1), 0},
		{"a copy by root's shell", good + "ExecReload=+/bin/sh -c 'umask 077 && cp /etc/segd/segd.yaml %t/segd/new && chown --reference=%t/segd/ %t/segd/new'\n", 2},
		{"a folder by root", good + "ExecStartPre=-+/bin/mkdir -p %S/segd\n", 1},
		{"root's rights but for the user", good + "ExecStartPost=!/usr/bin/touch /var/lib/segd/x\n", 1},
		{"on two lines", good + "ExecStopPost=\\\n+/bin/true\n", 1},
		{"a shell of its own user", good + "ExecStop=/bin/sh -c true\n", 1},
		{"root", strings.Replace(good, "User=_segd", "User=root", 1), 1},
		{"no user", strings.Replace(good, "User=_segd\n", "", 1), 1},
		{"rights for the rest", good + "PermissionsStartOnly=true\n", 1},
	} {
		if got := rootFaults(tt.unit); len(got) != tt.want {
			t.Errorf("%s: %d faults %q, want %d", tt.name, len(got), got, tt.want)
		}
	}
}
