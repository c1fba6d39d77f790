package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The package makes the service's user, lets it read /etc/segd, and lets it read a configuration that was root's
// alone, as the unit of 0.1.0 had it.
func TestPostinst(t *testing.T) {
	const folder, readable = "chgrp _segd /etc/segd\nchmod 2750 /etc/segd\n", "chgrp _segd /etc/segd/segd.yaml\nchmod g+r /etc/segd/segd.yaml\n"
	const user = "adduser --quiet --system --group --no-create-home --home /nonexistent _segd\n"
	for _, tt := range []struct {
		name, args string
		config     bool              // there is one
		commands   map[string]string // that end otherwise than they do by default
		want       string
	}{
		{"new", "configure", false, nil, user + folder},
		{"upgrade", "configure 0.1.0", true, nil, user + folder + readable},
		{"again", "configure 0.2.0", true, map[string]string{"getent": "exit 0", "runuser": "exit 0"}, folder},
		{"its administrator says otherwise", "configure 0.2.0", true, map[string]string{"getent": "exit 0", "runuser": "exit 0", "dpkg-statoverride": "exit 0"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, bin := t.TempDir(), t.TempDir()
			done := filepath.Join(root, "done")
			require.NoError(t, os.MkdirAll(filepath.Join(root, "etc/segd"), 0o755))
			if tt.config {
				require.NoError(t, os.WriteFile(filepath.Join(root, "etc/segd/segd.yaml"), nil, 0o600))
			}
			for name, does := range map[string]string{
				"adduser": "", "chgrp": "", "chmod": "", "deb-systemd-helper": "exit 0", "deb-systemd-invoke": "exit 0", "systemctl": "exit 0",
				"getent": "exit 2", "runuser": "exit 1", "dpkg-statoverride": "exit 1",
			} {
				if other, ok := tt.commands[name]; ok {
					does = other
				}
				if does == "" {
					does = `echo "${0##*/} $*" >>` + done
				}
				require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+does+"\n"), 0o755))
			}
			cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"debian/postinst"}, strings.Fields(tt.args)...)...)
			cmd.Env = []string{"PATH=" + bin, "DPKG_ROOT=" + root}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got, err := os.ReadFile(done)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			assert.Equal(t, tt.want, strings.ReplaceAll(string(got), root, ""), "it does")
		})
	}
}
