package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/segd/segd/e2e/process"
)

// What the first argument of a child of this program is.
const (
	childArgument = "child" // then what it is to do as JSON, and the file for its answer
	fillArgument  = "fill"  // takes the card's memory until its input ends
)

// request is what a child is to do.
type request struct {
	Part    string `json:"part"` // partCard and so on
	Way     way    `json:"way"`
	Library string `json:"library"`
	Clip    string `json:"clip"`
	GPU     string `json:"gpu"`
	Frames  int    `json:"frames"`
}

// answer is what a child says.
type answer struct {
	Card     *card          `json:"card,omitempty"`
	Features *featureReport `json:"features,omitempty"`
	Memory   *memoryReport  `json:"memory,omitempty"`
	FallAway *awayReport    `json:"fall_away,omitempty"`
	Error    string         `json:"error,omitempty"`
	Refused  bool           `json:"refused,omitempty"` // the error is of opening the model
}

// refusal is why a model could not be opened.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// asChild does a child's work and ends the process, if it is a child.
func asChild(ctx context.Context) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == fillArgument:
		if err := fill(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) == 4 && os.Args[1] == childArgument:
		if err := child(ctx, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// child does what text asks for and writes its answer to a file.
func child(ctx context.Context, text, file string) error {
	var q request
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return err
	}
	a, err := do(ctx, q)
	if err != nil {
		a.Error = err.Error()
		_, a.Refused = errors.AsType[refusal](err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func do(ctx context.Context, q request) (a answer, err error) {
	switch q.Part {
	case partCard:
		a.Card, err = lookAtCard()
	case partFeatures:
		a.Features, err = measureFeatures(ctx, q)
	case partMemory:
		a.Memory, err = measureMemory(ctx, q)
	case partFallAway:
		a.FallAway, err = tryFallAway(ctx, q)
	default:
		err = fmt.Errorf("part %q of a child; want %s, %s, %s or %s", q.Part, partCard, partFeatures, partMemory, partFallAway)
	}
	return a, err
}

// ask has a child do something, for limit at most. How it ends says the error, whatever befalls it.
func ask(ctx context.Context, q request, limit time.Duration) (a answer, err error) {
	self, err := os.Executable()
	if err != nil {
		return a, err
	}
	dir, err := os.MkdirTemp("", "segd-gputest-")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(dir)
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	file := filepath.Join(dir, "answer")
	if err := finish(ctx, exec.Command(self, childArgument, string(text), file), limit); err != nil {
		return a, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, err
	}
	switch {
	case a.Refused:
		return a, refusal{errors.New(a.Error)}
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// finish runs a command until it ends, and its children with it, for limit at most.
func finish(ctx context.Context, cmd *exec.Cmd, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	said := new(words)
	cmd.Stderr = said
	if cmd.Stdout == nil {
		cmd.Stdout = said
	}
	p, err := process.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.Exited:
	case <-ctx.Done():
		p.End()
		return fmt.Errorf("%w; its last words: %q", context.Cause(ctx), said.last())
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("it ended with %w: %s", err, said.last())
	}
	return nil
}

// mostWords bounds what is kept of a program's output, from its begin and again from its end.
const mostWords = 8 << 10

// words are what a program says, without the middle if it is much.
type words struct {
	mu         sync.Mutex
	begin, end []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(p), mostWords-len(w.begin))
	w.begin = append(w.begin, p[:n]...)
	w.end = append(w.end, p[n:]...)
	if over := len(w.end) - mostWords; over > 0 {
		w.end = append(w.end[:0], w.end[over:]...)
	}
	return len(p), nil
}

// lastWords begin the line in which a program says why it ends; how it came to it follows in many more.
var lastWords = []string{"segd: ", "panic: ", "fatal error: ", "SIG", "  what():"}

// last is the line that says why the program ended, or its last one.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := ""
	for l := range bytes.Lines(append(bytes.Clone(w.begin), w.end...)) {
		text := strings.TrimRight(string(l), "\r\n")
		for _, begin := range lastWords {
			if strings.HasPrefix(text, begin) {
				return strings.TrimSpace(text)
			}
		}
		if strings.TrimSpace(text) != "" {
			line = strings.TrimSpace(text)
		}
	}
	if line == "" {
		return "it said nothing"
	}
	return line
}
