package attack

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// What the issue of a subject boundary needs is there, whatever the version of nats-server.
func TestSubjects(t *testing.T) {
	all, err := allSubjects(harness.Root(t), "SERVERID")
	require.NoError(t, err)
	for _, want := range []string{
		server.JSApiAccountInfo, server.JSApiStreams, server.JSApiLeaderStepDown, server.JSApiRemoveServer,
		"$JS.API.STREAM.UPDATE.segd_home_event", "$JS.API.STREAM.PURGE.OBJ_segd_home_checkpoints", "$JS.API.STREAM.DELETE.KV_segd_home_fleet",
		"$JS.API.STREAM.MSG.DELETE.segd_home_mask", "$JS.API.STREAM.MSG.GET.KV_segd_home_cameras", "$JS.API.DIRECT.GET.KV_segd_home_cameras",
		"$JS.API.CONSUMER.CREATE.segd_home_event", "$JS.API.CONSUMER.CREATE.segd_home_event." + marker + ".x", "$JS.API.CONSUMER.DURABLE.CREATE.segd_home_mask." + marker,
		"$JS.API.CONSUMER.DELETE.segd_home_event.operator", "$JS.API.CONSUMER.MSG.NEXT.segd_home_event.subscriber", "$JS.API.CONSUMER.PAUSE.segd_home_event.operator",
		"$SYS.REQ.SERVER.SERVERID.KICK", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO",
		"$KV.segd_home_cameras.porch", "$O.segd_home_checkpoints.M.gate", "_INBOX.x.1", "segd.v1.there.gate.mask", "segd.v1.home.camera.remove",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not tried", want)
		}
	}
	for _, subject := range all {
		if !server.IsValidLiteralSubject(subject) {
			t.Errorf("%q is no subject to publish to", subject)
		}
	}
	file := filepath.Join(harness.Root(t), "docs", "security.md")
	for _, role := range roles {
		may, err := readRights(file, role, site)
		require.NoError(t, err)
		tries := forbidden(all, may)
		if len(tries) < 500 || len(tries) > 3000 {
			t.Errorf("%s is forbidden %d of %d subjects; want hundreds, and not so many that it takes long", role, len(tries), len(all))
		}
		if n := len(elsewhere(role, may)); n < 200 || n > 3000 {
			t.Errorf("%s has %d answers sent elsewhere", role, n)
		}
		for _, try := range tries {
			if try.subject == "$JS.API.STREAM.INFO.segd_home_event" {
				t.Errorf("%s may not ask %s", role, try.subject)
			}
		}
	}
}
