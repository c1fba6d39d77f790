package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli/clitest"
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
			refuses(t, tt.status, tt.want, tt.args...)
		})
	}
}

func TestEvalMoons(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 12 s: the experiment itself")
	}
	c := start(t, "moons", "--seeds", "1")
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"method", "mean", "median", "paper"}, {"kernel k-means", "66.6 %"}, {"coordinate descent", "68.5 %"}, {"DC-ADMM", "2.5 %"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
}

func TestEvalGrowth(t *testing.T) {
	c := start(t, "ssl", "--growth", "--samples", "60,120")
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"samples", "seconds", "MB"}, {"linear kernel", "softmax", "ν = 0.02"}, {"120"}, {"power"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
}
