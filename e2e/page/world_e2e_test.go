//go:build e2e

package page

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/mask"
)

const (
	likeIt  = 0.7 // intersection over union with the reference
	onIt    = 0.5 // the same of any later frame
	subject = "segd.v1.home.demo.mask"
)

// Frames of the clip in which the walker is marked; later ones leave too little of her
// way to see whether she is followed.
const firstMark, lastMark = 620, 655

// world is what the steps act on.
type world struct {
	pictures string
	url      string
	nats     string
	walker   map[int]mask.RLE
	chromium *browser.Browser
	log      log
	note     func(format string, args ...any)

	desk, second, phone *hand
}

func (w *world) open(ctx context.Context, t *testing.T) {
	var err error
	w.desk, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	for _, label := range []string{"person", "second person"} {
		if _, err := w.log.until(ctx, 0, label, func(m *segdv1.MaskFrame) bool { return object(m, label) != nil }); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, w.desk.listed(ctx, label))
	}
}

func (w *world) dark(ctx context.Context, t *testing.T) {
	for name, tab := range map[string]browser.Tab{
		"9-dark":       {Theme: "dark", Width: 1280, Height: 800, Scale: 1},
		"9-dark-phone": {Theme: "dark", Width: 390, Height: 844, Scale: 2, Touch: true},
	} {
		h, err := w.tab(ctx, tab)
		require.NoError(t, err)
		if err := harness.Pause(ctx, 3*time.Second); err != nil { // figures of the last seconds
			t.Fatal(err)
		}
		require.NoError(t, h.picture(ctx, name))
		require.NoError(t, h.begin(ctx))
		require.NoError(t, h.outlined(ctx, "sign", sign))
		require.NoError(t, h.picture(ctx, name+"-marking"))
	}
}
