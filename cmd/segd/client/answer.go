package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
)

// answerCommand is cmd, which prints what a running segd answers to ask: for people, or with --json as it is. Where that
// has an err it ends with this one.
func answerCommand[T interface{ print(out io.Writer) error }](std cli.Streams, to Target, cmd *cobra.Command, ask func(bus.Target, context.Context) ([]byte, error)) *cobra.Command {
	var asJSON bool
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer, one JSON object")
	return to.command(cmd, func(ctx context.Context, _ []string) error {
		answer, err := ask(to.Camera(""), ctx)
		if err != nil {
			return err
		}
		what, err := decodeAnswer[T](answer)
		if err != nil {
			return err
		}
		if asJSON {
			err = cli.WriteJSON(std.Out, json.RawMessage(answer))
		} else {
			err = what.print(std.Out)
		}
		if done, ok := any(what).(interface{ err() error }); ok {
			err = errors.Join(err, done.err())
		}
		return err
	})
}

func decodeAnswer[T any](answer []byte) (v T, err error) {
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, fmt.Errorf("the answer %.100q: %w", answer, err)
	}
	return v, nil
}
