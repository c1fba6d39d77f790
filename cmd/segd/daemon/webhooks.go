package daemon

import (
	"reflect"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/outputs/webhook"
)

// openWebhooks makes ready for the webhooks of the configuration.
func (d *daemon) openWebhooks() error {
	if err := d.webhooks.Set(configured.Webhooks(d.cfg)); err != nil {
		return cli.Usage(err)
	}
	d.meters.Webhooks(d.webhooks.Stats)
	return nil
}

// checkWebhooks tells what is wrong with webhooks to come. Those that are there already may have lost a file.
func (d *daemon) checkWebhooks(next *config.Config) error {
	if reflect.DeepEqual(next.Webhooks, d.cameras.Settings().Webhooks) {
		return nil
	}
	if err := webhook.Check(configured.Webhooks(next)); err != nil {
		return &config.SettingError{Path: "webhooks", Err: err}
	}
	return nil
}

// setWebhooks has events be posted to the webhooks there are now.
func (d *daemon) setWebhooks(now *config.Config) {
	if err := d.webhooks.Set(configured.Webhooks(now)); err != nil {
		d.log.Error("the webhooks stay as they were", "error", err)
	}
}
