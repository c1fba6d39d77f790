package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
)

// natsFlags is where the commands that talk to a running segd find it.
type natsFlags struct {
	url    string
	access bus.Access
}

func (f *natsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "nats", "nats://"+config.DefaultNATSAddr, "URL of the NATS server, with user and password or token if it wants them")
	flags.StringVar(&f.access.Credentials, "nats-creds", "", "file with a NATS user's JWT and seed")
	flags.StringVar(&f.access.NKey, "nats-nkey", "", "file with a NATS user's seed")
	flags.StringVar(&f.access.CA, "nats-ca", "", "file with the certificates to trust with the NATS server's")
	flags.StringVar(&f.access.Cert, "nats-cert", "", "file with the certificate to show it")
	flags.StringVar(&f.access.Key, "nats-key", "", "file with that one's key")
	cli.FromEnv(cmd, "nats", "SEGD_CLIENT_NATS")
}

// Target says which running segd a command is for.
type Target struct {
	server natsFlags
	what   string // what --site is the site of; empty: the camera
	site   string
	wait   time.Duration
}

// command is cmd, which does something with a running segd in the time that it may take.
func (t *Target) command(cmd *cobra.Command, do func(ctx context.Context, args []string) error) *cobra.Command {
	return t.Prepared(cmd, func(ctx context.Context, args []string) error {
		ctx, cancel := t.Asking(ctx)
		defer cancel()
		return do(ctx, args)
	})
}

// Asking is ctx for as long as an answer is waited for.
func (t *Target) Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.wait)
}

// Prepared is command where do takes its time, to read or to have something typed, before it is Asking.
func (t *Target) Prepared(cmd *cobra.Command, do func(ctx context.Context, args []string) error) *cobra.Command {
	t.server.register(cmd)
	usage := "site the camera is at"
	if t.what != "" {
		usage = "site of " + t.what
	}
	cmd.Flags().StringVar(&t.site, "site", config.DefaultSite, usage)
	cli.FromEnv(cmd, "site", "SEGD_CLIENT_SITE")
	cmd.Flags().DurationVar(&t.wait, "wait", cmp.Or(t.wait, 15*time.Second), "how long to wait for the answer")
	cmd.Args = cli.Args
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args) }
	return cmd
}

// Camera is the running segd's camera of that name.
func (t *Target) Camera(name string) bus.Target {
	return bus.Target{URL: t.server.url, Access: t.server.access, Site: t.site, Camera: name}
}

// Page is where the commands that talk to the page find it.
type Page struct{ url, token string }

// Register adds the flags that say where the page is.
func (f *Page) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "page", "http://"+config.DefaultHTTPAddr, "URL of the page")
	cmd.Flags().StringVar(&f.token, "token", "", "the page's token")
	cli.FromEnv(cmd, "page", "SEGD_CLIENT_PAGE")
	cli.FromEnv(cmd, "token", "SEGD_CLIENT_TOKEN")
}

func annotateCommand(std cli.Streams) *cobra.Command {
	var to Target
	cmd := to.Prepared(&cobra.Command{
		Use:   "annotate CAMERA FILE",
		Short: "Tell a running segd where an object is",
		Long: "FILE is a PNG as large as the camera's frames whose pixel values are object ids, 0\n" +
			"for the background, or JSON; - reads standard input. The JSON, in pixels:\n\n" +
			"  {\"width\": 768, \"height\": 576, \"frame\": 1234,\n" +
			"   \"objects\": [{\"id\": 1, \"label\": \"person\",\n" +
			"     \"scribbles\": [{\"width\": 14, \"points\": [[274, 383], [282, 384]]}],\n" +
			"     \"polygon\": [[x, y], …]  or  \"box\": [left, top, right, bottom]}],\n" +
			"   \"background\": [strokes like scribbles]}\n\n" +
			"An object needs one of scribbles, polygon and box; strokes overrule the others. Of an\n" +
			"object that is followed already, strokes on it or on the background correct what they\n" +
			"mark and leave the rest. The frame is one to come or one of the last seconds; without\n" +
			"it the next one is meant. docs/annotations.md says more.",
		Example: "  segd annotate gate mask.png\n" +
			"  segd annotate gate strokes.json --nats nats://192.0.2.20:4222 --site yard\n" +
			"  segd annotate gate - <strokes.json",
	}, func(ctx context.Context, args []string) error {
		payload, err := readPayload(std.In, args[1])
		if err != nil {
			return cli.Usage(err)
		}
		// What is wrong in itself is said without asking segd.
		if _, err := annotation.ParseFor(payload, 0, 0); err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		ctx, cancel := to.Asking(ctx)
		defer cancel()
		annotated, err := to.Camera(args[0]).Annotate(ctx, payload)
		if err != nil {
			return err
		}
		return PrintAnnotated(std.Out, annotated)
	})
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveDefault)
	return cmd
}

// PrintAnnotated tells what became of an annotation.
func PrintAnnotated(out io.Writer, a *segdv1.Annotated) error {
	what := "accepted, on"
	if a.GetPending() {
		what = "waits for"
	}
	if _, err := fmt.Fprintf(out, "%s: annotation %s frame %d\n", a.GetCamera(), what, a.GetSequence()); err != nil {
		return err
	}
	for _, w := range a.GetWarnings() {
		if _, err := fmt.Fprintf(out, "%s: warning: object %d: %s\n", a.GetCamera(), w.GetObjectId(), cli.Printable(w.GetMessage())); err != nil {
			return err
		}
	}
	return nil
}

func readPayload(stdin io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}
