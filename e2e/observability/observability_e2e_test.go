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

	"github.com/segd/segd/e2e/harness"
)

var (
	wait = flag.Duration("for", time.Minute, "how long Prometheus scrapes before it is asked")
	all  = flag.Bool("all", false, "list every expression and what it returned")
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
}

func TestQueries(t *testing.T) {
	root := harness.Root(t)
	excused, err := readExcuses(emptyFile)
	if err != nil {
		t.Fatal(err)
	}
	panels, err := panelQueries(filepath.Join(root, boards))
	if err != nil {
		t.Fatal(err)
	}
	demo := harness.Demo(t)
	var metrics []byte
	if err := demo.Wait(t.Context(), harness.DemoLimit, "metrics of the solver", func(ctx context.Context) error {
		if metrics, err = harness.Get(ctx, demo.Page+"metrics"); err == nil && !bytes.Contains(metrics, []byte("segd_solver_lagrangian{")) {
			err = errors.New("none yet")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	tool(t, metrics, "promtool", "check", "metrics")

	addr, file := harness.FreeAddrs(t, 1)[0], filepath.Join(t.TempDir(), "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 2s, evaluation_interval: 2s}\n"+
		"rule_files: ['%s/*.rules.yml']\n"+
		"scrape_configs: [{job_name: segd, static_configs: [{targets: ['%s']}]}]\n",
		filepath.Join(root, rules), strings.Trim(strings.TrimPrefix(demo.Page, "http://"), "/"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	prometheus := harness.Start(t, "prometheus", "prometheus", "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(t.TempDir(), "data"), "--web.listen-address="+addr, "--log.level=error")
	t.Logf("Prometheus scrapes the demo for %v", *wait)
	select {
	case <-t.Context().Done():
		t.Fatal(context.Cause(t.Context()))
	case <-prometheus.Exited:
		t.Fatal("prometheus ended")
	case <-demo.Exited:
		t.Fatal("the demo ended")
	case <-time.After(*wait):
	}

	p := api{url: "http://" + addr, at: time.Now()}
	ruled, err := p.ruleQueries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.check(t.Context(), t.Output(), append(panels, ruled...), excused, *all); err != nil {
		t.Error(err)
	}
}
