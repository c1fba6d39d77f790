// Command observability tries segd's dashboards and alerts for real.
//
// It has promtool check the rules, their cases and the metrics; then it starts a segd
// demo and a Prometheus that scrapes it with the rules of deploy/prometheus, waits a
// minute, and runs every expression of every dashboard's panel and variable and of every
// rule. Each must return data, or stand in empty.txt with the reason why it does not. An
// alert's condition is asked for its truth, so that one which does not fire returns data
// as well; one that fires is told.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/segd/segd/scripts/process"
)

func main() { process.Main("observability", run) }

const (
	rules     = "deploy/prometheus"
	boards    = "deploy/grafana/dashboards"
	emptyFile = "scripts/observability/empty.txt"
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("observability", flag.ContinueOnError)
	flags.SetOutput(stderr)
	segd := flags.String("segd", "bin/segd", "program to watch")
	wait := flags.Duration("for", time.Minute, "how long Prometheus scrapes before it is asked")
	all := flags.Bool("all", false, "list every expression and what it returned")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if err := promtool(ctx, stdout); err != nil {
		return err
	}
	excused, err := readExcuses(emptyFile)
	if err != nil {
		return err
	}
	panels, err := panelQueries(boards)
	if err != nil {
		return err
	}

	dir, err := os.MkdirTemp("", "segd-observability-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	demo, err := process.StartDemo(ctx, io.Discard, *segd)
	if err != nil {
		return err
	}
	defer demo.End()
	metrics, err := firstMasks(ctx, demo)
	if err != nil {
		return err
	}
	if err := tool(ctx, stdout, metrics, "promtool", "check", "metrics"); err != nil {
		return err
	}
	addrs, err := process.FreeAddrs(ctx, 1)
	if err != nil {
		return err
	}
	prometheus, err := startPrometheus(ctx, stderr, dir, demo.Page, addrs[0])
	if err != nil {
		return err
	}
	defer prometheus.End()
	fmt.Fprintf(stdout, "Prometheus scrapes the demo for %v\n", *wait)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-prometheus.Exited:
		return errors.New("prometheus ended")
	case <-demo.Exited:
		return errors.New("the demo ended")
	case <-time.After(*wait):
	}

	p := api{url: "http://" + addrs[0], at: time.Now()}
	ruled, err := p.ruleQueries(ctx)
	if err != nil {
		return err
	}
	return p.check(ctx, stdout, append(panels, ruled...), excused, *all)
}

// promtool checks what needs no running segd.
func promtool(ctx context.Context, stdout io.Writer) error {
	files, err := filepath.Glob(filepath.Join(rules, "*.rules.yml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no rules in %s: %w", rules, err)
	}
	return errors.Join(
		tool(ctx, stdout, nil, "promtool", "check", "config", filepath.Join(rules, "prometheus.yml")),
		tool(ctx, stdout, nil, "promtool", append([]string{"check", "rules", "--lint-fatal"}, files...)...),
		tool(ctx, stdout, nil, "promtool", "test", "rules", filepath.Join(rules, "rules.test.yml")),
	)
}

// tool runs a program and tells in a line how it went, in full if it failed.
func tool(ctx context.Context, stdout io.Writer, stdin []byte, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	line := name + " " + strings.Join(args, " ")
	if err != nil {
		fmt.Fprintf(stdout, "%s: FAILED\n%s", line, out)
		return fmt.Errorf("%s: %w", line, err)
	}
	fmt.Fprintf(stdout, "%s: ok\n", line)
	return nil
}

// firstMasks waits until the demo has published masks and returns its metrics.
func firstMasks(ctx context.Context, demo *process.Demo) (metrics []byte, err error) {
	err = demo.Wait(ctx, func(ctx context.Context) bool {
		text, err := process.Get(ctx, demo.Page+"metrics")
		metrics = text
		return err == nil && bytes.Contains(text, []byte(`segd_solver_lagrangian{`))
	})
	return metrics, err
}

// startPrometheus runs one that scrapes the segd of a page every other second.
func startPrometheus(ctx context.Context, stderr io.Writer, dir, page, listen string) (*process.Process, error) {
	folder, err := filepath.Abs(rules)
	if err != nil {
		return nil, err
	}
	target := strings.Trim(strings.TrimPrefix(page, "http://"), "/")
	file := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 2s, evaluation_interval: 2s}\n"+
		"rule_files: ['%s/*.rules.yml']\n"+
		"scrape_configs: [{job_name: segd, static_configs: [{targets: ['%s']}]}]\n", folder, target)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return process.Run(ctx, stderr, "prometheus", "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen, "--log.level=error")
}
