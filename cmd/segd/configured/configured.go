// Package configured says what the configuration means for the packages that do the work,
// for the daemon and for the commands that try things beforehand alike.
package configured

import (
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/outputs/webhook"
	"github.com/segd/segd/pipeline"
)

// Stagger is how long the i-th of many cameras waits before it is first dialled:
// about as long as a camera on the same network takes to answer, so that they come
// up one after the other. With more than fifty some share a moment.
func Stagger(i int) time.Duration {
	const step, moments = 20 * time.Millisecond, 50
	return time.Duration(i%moments) * step
}

// NATS is the server that segd uses, or is.
func NATS(cfg *config.Config, log *slog.Logger) (bus.Config, error) {
	host, text, err := net.SplitHostPort(cfg.NATS.Addr)
	if err != nil {
		return bus.Config{}, fmt.Errorf("nats.addr: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return bus.Config{}, fmt.Errorf("nats.addr: %w", err)
	}
	var users []bus.User
	for _, u := range cfg.NATS.Users {
		users = append(users, bus.User{Name: u.Name, Password: u.Password, NKey: u.NKey, Role: bus.Role(u.Role)})
	}
	return bus.Config{
		Site: cfg.Site,
		Embedded: bus.Embedded{
			Host: host, Port: port, Token: cfg.NATS.Token, Users: users, Cert: cfg.NATS.TLS.Cert, Key: cfg.NATS.TLS.Key,
			StoreDir: cfg.NATS.StoreDir, SyncAlways: cfg.NATS.Sync == "always",
		},
		External: bus.External{URL: cfg.NATS.URL, Access: NATSAccess(cfg.NATS)},
		Events:   retention(cfg.NATS.Events), Masks: retention(cfg.NATS.Masks), Pictures: retention(cfg.NATS.Pictures), Replicas: cfg.NATS.Replicas,
		Duplicates: cfg.NATS.Duplicates == "allow", JSON: cfg.NATS.Format == "json", Logger: log,
	}, nil
}

// MQTT is the configured broker, without what is published there.
func MQTT(cfg *config.Config, log *slog.Logger) mqtt.Config {
	m := cfg.MQTT
	return mqtt.Config{
		URL: m.URL, Username: m.Username, PasswordFile: m.PasswordFile, ClientID: m.ClientID,
		CA: m.TLS.CA, Cert: m.TLS.Cert, Key: m.TLS.Key,
		Prefix: m.Prefix, Site: cfg.Site, Box: cfg.Fleet.Box, Discovery: m.Discovery, Logger: log,
	}
}

// Webhooks are the configured servers that events are posted to.
func Webhooks(cfg *config.Config) []webhook.Hook {
	all := make([]webhook.Hook, len(cfg.Webhooks))
	for i, w := range cfg.Webhooks {
		all[i] = webhook.Hook{
			Name: w.Name, URL: w.URL, Secret: w.Secret, SecretFile: w.SecretFile, CA: w.CA,
			Kinds: w.Kinds, Cameras: w.Cameras, Classes: w.Classes, Zones: w.Zones,
		}
	}
	return all
}

func retention(r config.Retention) bus.Retention {
	return bus.Retention{MaxAge: r.Age(), MaxBytes: r.Bytes()}
}

// CamerasKey is the file with the key that cameras which are added are encrypted with; "": none.
func CamerasKey(cfg config.NATS) string {
	if cfg.CamerasKey == "" && cfg.URL == "" && cfg.StoreDir != "" {
		return filepath.Join(cfg.StoreDir, "cameras.key")
	}
	return cfg.CamerasKey
}

// NATSAccess is what a NATS server elsewhere is shown.
func NATSAccess(cfg config.NATS) bus.Access {
	return bus.Access{
		CA: cfg.TLS.CA, Cert: cfg.TLS.Cert, Key: cfg.TLS.Key, Credentials: cfg.Credentials, NKey: cfg.NKey,
	}
}

// ModelOptions says how the configured model is used.
func ModelOptions(cfg config.Model) dnn.Options {
	opt := dnn.Options{
		Taps: cfg.Taps, ShortSide: cfg.ShortSide, RGB: cfg.RGB, Prototxt: cfg.Prototxt, Computing: computing(cfg),
	}
	copy(opt.Mean[:], cfg.Mean)
	copy(opt.Std[:], cfg.Std)
	return opt
}

// computing says what computes the model, and the detector.
func computing(cfg config.Model) dnn.Computing {
	return dnn.Computing{
		Threads: cfg.Threads, Device: cfg.Device, FP16: cfg.FP16, Batch: cfg.Batch, BatchWait: cfg.BatchWaitTime(),
		Engine: cfg.Engine, EngineLibrary: cfg.EngineLibrary, EngineCache: cfg.EngineCache,
	}
}

// OpenModel opens a model, or with an empty path the one in the binary.
func OpenModel(path string, opt dnn.Options) (*dnn.Model, error) {
	if path == "" {
		return dnn.Embedded(opt)
	}
	m, err := dnn.Open(path, opt)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return m, nil
}

// Detect is what a camera marks by itself.
func Detect(d config.Detect) pipeline.Detect {
	return pipeline.Detect{
		Classes: d.Classes, Score: d.Score, Every: d.EveryTime(), MaxObjects: d.MaxObjects, Keep: d.KeepTime(),
		Reidentify: d.Reidentify, Zones: d.Zones,
	}
}

// Fits tells whether the frames of a camera are the same at every start, so that the one its
// annotation is of is known.
func Fits(cam config.Camera) bool {
	return strings.HasPrefix(cam.URL, "file:") || strings.HasPrefix(cam.URL, "dir:")
}
