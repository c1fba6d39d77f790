//go:build e2e

package observability

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
)

var (
	wait = flag.Duration("for", time.Minute, "how long Prometheus scrapes before it is asked")
	list = flag.Bool("all", false, "list every expression and what it returned")
)

// tool runs a program.
func tool(t *testing.T, stdin []byte, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func TestRules(t *testing.T) {
	folder := filepath.Join(harness.Root(t), rules)
	files, err := filepath.Glob(filepath.Join(folder, "*.rules.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules in %s: %v", folder, err)
	}
	tool(t, nil, "promtool", "check", "config", filepath.Join(folder, "prometheus.yml"))
	tool(t, nil, "promtool", append([]string{"check", "rules", "--lint-fatal"}, files...)...)
	tool(t, nil, "promtool", "test", "rules", filepath.Join(folder, "rules.test.yml"))
	tool(t, nil, "amtool", "check-config", filepath.Join(harness.Root(t), composeAlertmanager))
}

// composeAlertmanager is the configuration of the Alertmanager in the compose files.
const composeAlertmanager = "deploy/compose/alertmanager.yml"

// scrape has a Prometheus scrape pages, with the rules, until the test ends.
func scrape(t *testing.T, pages ...string) (api, *harness.Process) {
	return scrapeTo(t, "", pages...)
}

// scrapeTo is scrape with an Alertmanager, if there is one.
func scrapeTo(t *testing.T, alertmanager string, pages ...string) (_ api, p *harness.Process) {
	t.Helper()
	var targets []string
	for _, page := range pages {
		targets = append(targets, "'"+strings.Trim(strings.TrimPrefix(page, "http://"), "/")+"'")
	}
	addr, file := harness.FreeAddrs(t, 1)[0], filepath.Join(t.TempDir(), "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 2s, evaluation_interval: 2s}\n"+
		"rule_files: ['%s/*.rules.yml']\n"+
		"scrape_configs: [{job_name: segd, static_configs: [{targets: [%s]}]}]\n",
		filepath.Join(harness.Root(t), rules), strings.Join(targets, ", "))
	if alertmanager != "" {
		text += fmt.Sprintf("alerting: {alertmanagers: [{static_configs: [{targets: ['%s']}]}]}\n", alertmanager)
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	p = harness.Start(t, "prometheus", "prometheus", "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(t.TempDir(), "data"), "--web.listen-address="+addr, "--log.level=error")
	return api{url: "http://" + addr}, p
}

// pass waits, and ends the test if one of the processes ends meanwhile.
func pass(t *testing.T, d time.Duration, processes ...*harness.Process) {
	t.Helper()
	over := time.After(d)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, p := range processes {
			select {
			case <-p.Exited:
				t.Fatalf("a process has ended: %v; its log is %s", p.Err(), p.Log)
			default:
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// queries are those of dashboards and rules, and those that are excused.
func queries(t *testing.T, p api) (all []query, excused map[string]string) {
	t.Helper()
	excused, err := readExcuses(emptyFile)
	require.NoError(t, err)
	panels, err := panelQueries(filepath.Join(harness.Root(t), boards))
	require.NoError(t, err)
	ruled, err := p.ruleQueries(t.Context())
	require.NoError(t, err)
	return append(panels, ruled...), excused
}

func TestQueries(t *testing.T) {
	t.Setenv("SEGD_RECORDING_DIR", t.TempDir()) // so that its recordings have data
	segd := harness.Demo(t)
	var metrics []byte
	require.NoError(t, segd.Wait(t.Context(), harness.DemoLimit, "metrics of the solver", func(ctx context.Context) (err error) {
		if metrics, err = harness.Get(ctx, segd.Page+"metrics"); err == nil && !bytes.Contains(metrics, []byte("segd_solver_lagrangian{")) {
			err = errors.New("none yet")
		}
		return err
	}))
	tool(t, metrics, "promtool", "check", "metrics")

	p, prometheus := scrape(t, segd.Page)
	t.Logf("Prometheus scrapes the demo for %v", *wait)
	pass(t, *wait, prometheus, segd.Process)

	p.at = time.Now()
	all, excused := queries(t, p)
	fleet, others := split(all)
	for _, q := range fleet {
		delete(excused, q.name) // asked by TestFleetQueries
	}
	assert.NoError(t, p.check(t.Context(), t.Output(), others, excused, *list))
}

// Two boxes share two cameras; then one of them is drained, and the other has both.
func TestFleetQueries(t *testing.T) {
	store := t.TempDir()
	nats := harness.StartNATSIn(t, store, fmt.Sprintf("jetstream: {store_dir: %q, max_file_store: 1GB}", store)) // room for checkpoints
	boxes := map[string]*harness.Segd{}
	var pages []string
	var processes []*harness.Process
	for _, name := range []string{"box-a", "box-b"} {
		s := harness.Run(t, fmt.Sprintf("nats: {url: '%s'}\nfleet: {box: %s}\nsuperpixels: 200\nmodel: {short_side: 64}\n"+
			"cameras: [{name: %s, url: 'file:%s', loop: true, detect: {off: true}}, {name: yard, url: 'file:%s', loop: true, detect: {off: true}}]\n", nats.URL, name, camera, demo.ClipPath, demo.ClipPath))
		boxes[name], pages, processes = s, append(pages, s.Page), append(processes, s.Process)
	}
	runs := func(box string, cameras float64) func(context.Context) error {
		return func(ctx context.Context) error {
			now, err := boxes[box].Metrics(ctx)
			if err == nil && (now.Sum("segd_fleet_box_cameras") != cameras || now.Sum("segd_fleet_boxes") != 2 || now.Sum("segd_fleet_cameras_unplaced") != 0) {
				err = fmt.Errorf("box %s runs %v cameras of %v, want %v", box, now.Sum("segd_fleet_box_cameras"), now.Sum("segd_fleet_cameras"), cameras)
			}
			return err
		}
	}
	for box := range boxes {
		harness.Until(t, harness.StartLimit, "a camera for each box", runs(box, 1))
	}
	metrics, err := harness.Get(t.Context(), boxes["box-a"].Page+"metrics")
	require.NoError(t, err)
	tool(t, metrics, "promtool", "check", "metrics")

	p, prometheus := scrape(t, pages...)
	processes = append(processes, prometheus)
	t.Logf("Prometheus scrapes two boxes for %v", *wait)
	pass(t, *wait, processes...)
	tool(t, nil, harness.Program(t), "fleet", "drain", "box-b", "--nats", nats.URL)
	harness.Until(t, harness.StartLimit, "both cameras on one box", runs("box-a", 2))
	pass(t, 10*time.Second, processes...) // so that it is scraped, and rates see it

	p.at = time.Now()
	all, excused := queries(t, p)
	fleet, _ := split(all)
	own := map[string]string{}
	for _, q := range fleet {
		if reason, ok := excused[q.name]; ok {
			own[q.name] = reason
		}
	}
	assert.NoError(t, p.check(t.Context(), t.Output(), fleet, own, *list))
}

// A camera that is down is shown on the page by way of Prometheus and an Alertmanager, with the runbook's text, and an
// Alertmanager that ends is said to be away.
func TestAlertsOnThePage(t *testing.T) {
	addrs := harness.FreeAddrs(t, 1)
	alertmanager := harness.Start(t, "alertmanager", "prometheus-alertmanager", "--config.file="+filepath.Join(harness.Root(t), composeAlertmanager),
		"--storage.path="+filepath.Join(t.TempDir(), "data"), "--web.listen-address="+addrs[0], "--cluster.listen-address=", "--log.level=error")
	segd := harness.Run(t, fmt.Sprintf("http: {addr: '%s', alertmanager: 'http://%s'}\nsuperpixels: 200\nmodel: {short_side: 64}\n"+
		"cameras: [{name: gone, url: 'rtsp://127.0.0.1:1/gone'}]\n", harness.FreeAddrs(t, 1)[0], addrs[0]))
	scrapeTo(t, addrs[0], segd.Page)
	var body []byte
	harness.Until(t, 5*time.Minute, "the alert", func(ctx context.Context) (err error) {
		if body, err = harness.Get(ctx, segd.Page+"api/v1/alerts"); err == nil && !bytes.Contains(body, []byte(`"name":"SegdCameraDown","severity":"critical","summary":"camera gone is down"`)) {
			err = fmt.Errorf("there is %s", body)
		}
		return err
	})
	if !bytes.Contains(body, []byte(`"runbook":"The camera delivers no frames; segd redials it forever.`)) {
		t.Errorf("without what the runbook says: %s", body)
	}
	alertmanager.Kill()
	harness.Until(t, time.Minute, "it is away", func(ctx context.Context) error {
		status, body, err := harness.Ask(ctx, segd.Page+"api/v1/alerts")
		if err == nil && (status != 502 || !bytes.Contains(body, []byte("connection refused"))) {
			err = fmt.Errorf("%d: %s", status, body)
		}
		return err
	})
}
