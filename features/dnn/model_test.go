package dnn

import (
	"testing"

	"github.com/segd/segd/features"
)

func TestEmbedded(t *testing.T) {
	m, err := Embedded(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const w, h = 96, 64
	maps, err := m.Features(nil, make([]byte, 3*w*h), w, h)
	if err != nil {
		t.Fatal(err)
	}
	want := features.Map{Channels: 64, Height: 120, Width: 184, StrideX: 96. / 184, StrideY: 64. / 120}
	got := maps[0]
	if len(maps) != 1 || got.Channels != want.Channels || got.Height != want.Height || got.Width != want.Width || got.StrideX != want.StrideX || got.StrideY != want.StrideY {
		t.Errorf("%d maps, the first %d×%d×%d, stride %v, %v", len(maps), got.Channels, got.Height, got.Width, got.StrideX, got.StrideY)
	}
}
