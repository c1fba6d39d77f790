package main

import (
	"strings"
	"testing"

	"github.com/segd/segd/cmd/segd/cli"
)

func TestEvalRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   []string
	}{
		{"no seeds", []string{"moons", "--seeds", "0"}, 2, []string{"--seeds", "at least 1"}},
		{"no starts", []string{"moons", "--starts", "0"}, 2, []string{"--starts", "at least 1"}},
		{"no root", []string{"ssl"}, 2, []string{`"root"`}},
		{"too many samples", []string{"ssl", "--growth", "--samples", "60,1000000"}, 2, []string{"--samples 1000000", "20 to 100000"}},
		{"no such data set", []string{"ssl", "--root", t.TempDir(), "--datasets", "usps,mnist"}, 2, []string{"--datasets", `"mnist"`, "digit1"}},
		{"nothing there", []string{"ssl", "--root", "/no/ssl"}, 1, []string{"/no/ssl/digit1/features.npy", "want a folder with digit1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := start(t, tt.args...).Wait(t)
			if cli.Status(err) != tt.status {
				t.Fatalf("exit status %d of %v; want %d", cli.Status(err), err, tt.status)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestEvalMoons(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 12 s: the experiment itself")
	}
	c := start(t, "moons", "--seeds", "1")
	if err := c.Wait(t); err != nil {
		t.Fatal(err)
	}
	for _, parts := range [][]string{{"method", "mean", "median", "paper"}, {"kernel k-means", "66.6 %"}, {"coordinate descent", "68.5 %"}, {"DC-ADMM", "2.5 %"}} {
		if !lineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
}

func TestEvalGrowth(t *testing.T) {
	c := start(t, "ssl", "--growth", "--samples", "60,120")
	if err := c.Wait(t); err != nil {
		t.Fatal(err)
	}
	for _, parts := range [][]string{{"samples", "seconds", "MB"}, {"linear kernel", "softmax", "ν = 0.02"}, {"120"}, {"power"}} {
		if !lineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
}
