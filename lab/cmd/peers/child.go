package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// child is a peer's program that answers lines with lines of numbers.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(ctx context.Context, path string, args ...string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, path, args...)}
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w; `make peers` builds it", err)
	}
	return c, nil
}

// ask sends a line, and bytes after it, and returns the numbers of the answer.
func (c *child) ask(line string, more ...[]byte) ([]float64, error) {
	for _, part := range append([][]byte{[]byte(line + "\n")}, more...) {
		if _, err := c.in.Write(part); err != nil {
			return nil, fmt.Errorf("%s: asking %q: %w", c.cmd.Path, line, err)
		}
	}
	answer, err := c.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: no answer to %q: %w", c.cmd.Path, line, err)
	}
	fields := strings.Fields(answer)
	numbers := make([]float64, len(fields))
	for i, f := range fields {
		if numbers[i], err = strconv.ParseFloat(f, 64); err != nil {
			return nil, fmt.Errorf("%s: answer to %q: %w", c.cmd.Path, line, err)
		}
	}
	return numbers, nil
}

// close ends the program and waits for it.
func (c *child) close() error {
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", c.cmd.Path, err)
	}
	return nil
}
