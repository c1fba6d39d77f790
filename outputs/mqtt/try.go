package mqtt

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/eclipse/paho.golang/paho"
)

// Try connects to the broker of cfg, which needs no Cameras, and leaves it again. It is another client than that of
// a Publisher, which is not disturbed.
func Try(ctx context.Context, cfg Config) error {
	cfg.Cameras = func() ([]Camera, bool) { return nil, false }
	cfg.Logger = slog.New(slog.DiscardHandler)
	p, err := New(cfg)
	if err != nil {
		return err
	}
	packet, err := p.credentials(&paho.Connect{ClientID: p.cfg.ClientID + "-check", CleanStart: true, KeepAlive: p.times.keepAlive}, nil)
	if err != nil {
		return err
	}
	conn, err := p.dial(ctx, p.broker)
	if err != nil {
		return fmt.Errorf("mqtt: %w", err)
	}
	client := paho.NewClient(paho.ClientConfig{Conn: conn})
	ctx, cancel := context.WithTimeout(ctx, p.times.answer)
	defer cancel()
	if _, err := client.Connect(ctx, packet); err != nil {
		_ = conn.Close()
		return fmt.Errorf("mqtt: %w", err)
	}
	err = client.Disconnect(&paho.Disconnect{})
	<-client.Done()
	return err
}
