package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/segd/segd/scripts/steps"
)

// testSteps are tests of ours that take longer here, or that belong to what this
// program shows.
func testSteps(cycles int) []steps.Step {
	test := func(name, pkg, run string) steps.Step {
		return steps.Step{Name: name, Do: func(ctx context.Context) error {
			cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=30m", "-run=^"+run+"$", pkg)
			cmd.Env = append(os.Environ(), fmt.Sprintf("SEGD_TEST_CYCLES=%d", cycles))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w\n%s", err, out)
			}
			return nil
		}}
	}
	return []steps.Step{
		test("a pion publisher that loses 2 % of its packets: 99 % of its frames are whole", "./ingest/whip", "TestLoss"),
		test("capture times are within a frame of the sender's clock, and of arrival without its reports", "./ingest", "TestCaptureTime"),
		test("a change of the picture's size in mid-stream", "./ingest", "TestSizeChangeAndGarbage"),
		test(fmt.Sprintf("%d connections to cameras leave nothing behind, of each kind", cycles), "./ingest", "TestNothingStays"),
		test(fmt.Sprintf("%d publishers leave nothing behind", cycles), "./ingest/whip", "TestNothingStays"),
	}
}
