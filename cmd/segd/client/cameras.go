package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
)

// CameraCommands are those below "segd camera" that talk to a running segd.
func CameraCommands(std cli.Streams) []*cobra.Command {
	return []*cobra.Command{
		addCommand(std), setCommand(std), cameraListCommand(std),
		pauseCommand(std, "pause", "Have a running segd stop a camera that was added, and keep it", true),
		pauseCommand(std, "resume", "Have a running segd go on with a camera that was paused", false),
		removeCommand(std),
	}
}

// settingsHelp is of KEY=VALUE.
const settingsHelp = "A KEY is a setting of the configuration's cameras, such as fps, or detect.score of a\n" +
	"group; a VALUE is its text, a number, true, false, JSON, or nothing for the default.\n" +
	"detect=person,car names the classes alone. docs/configuration.md lists them.\n\n" +
	"The request goes over NATS, with the password in it: use TLS where others are on the way."

type cameraFlags struct {
	to     Target
	login  cli.Login
	detect []string
}

func (f *cameraFlags) command(cmd *cobra.Command, do func(ctx context.Context, args []string) error) *cobra.Command {
	f.to.Prepared(cmd, do)
	f.login.Flags(cmd, "the camera")
	cmd.Flags().StringSliceVar(&f.detect, "detect", nil, "classes to mark by itself, such as person,dog, in place of persons and road vehicles")
	return cmd
}

// fill puts what the flags and the KEY=VALUE in args say into a camera.
func (f *cameraFlags) fill(std cli.Streams, camera map[string]any, args []string) error {
	for _, arg := range args {
		if err := assign(camera, arg); err != nil {
			return cli.Usage(err)
		}
	}
	password, err := f.login.Password(std)
	if err != nil {
		return err
	}
	if f.login.User != "" {
		camera["user"], camera["password"] = f.login.User, password
	}
	if len(f.detect) > 0 {
		group(camera, "detect")["classes"] = f.detect
	}
	return nil
}

func addCommand(std cli.Streams) *cobra.Command {
	var f cameraFlags
	return f.command(&cobra.Command{
		Use:   "add NAME URL [KEY=VALUE...]",
		Short: "Add a camera to a running segd",
		Long: "It is there again when segd starts again, where segd has a place to keep it: a\n" +
			"nats.store_dir, or a NATS server elsewhere with a nats.cameras_key. With --user and no\n" +
			"password that is asked for.\n\n" + settingsHelp,
		Example: "  segd camera add yard rtsp://192.0.2.10/live --user admin --password-file camera.secret --detect person,car\n" +
			"  segd camera add attic dir:/var/lib/pictures fps=5 loop=true",
	}, func(ctx context.Context, args []string) error {
		camera := map[string]any{"name": args[0], "url": args[1]}
		if err := f.fill(std, camera, args[2:]); err != nil {
			return err
		}
		ctx, cancel := f.to.Asking(ctx)
		defer cancel()
		return send(ctx, std, camera, "added", f.to.Camera("").AddCamera)
	})
}

func setCommand(std cli.Streams) *cobra.Command {
	var f cameraFlags
	cmd := f.command(&cobra.Command{
		Use:   "set NAME [KEY=VALUE...]",
		Short: "Change a camera that was added to a running segd",
		Long: "What is not named stays as it is, and so does the password where the url is given as it is\n" +
			"listed. With --user and no password that is asked for.\n\n" + settingsHelp,
		Example: "  segd camera set yard transport=tcp detect.score=0.5\n" +
			"  segd camera set yard --user admin --password-file camera.secret\n" +
			"  segd camera set yard detect.off=true    # marks nothing by itself; detect= marks persons and road vehicles again",
	}, func(ctx context.Context, args []string) error {
		patch := map[string]any{}
		if err := f.fill(std, patch, args[1:]); err != nil {
			return err
		}
		if len(patch) == 0 {
			return cli.Usage(fmt.Errorf("camera set: nothing to change; accepted: KEY=VALUE, --user or --detect"))
		}
		patch["name"] = args[0]
		ctx, cancel := f.to.Asking(ctx)
		defer cancel()
		return send(ctx, std, patch, "changed", f.to.Camera("").SetCamera)
	})
	cmd.ValidArgsFunction = f.to.completeAdded(func(listed) bool { return true })
	return cmd
}

func pauseCommand(std cli.Streams, use, short string, paused bool) *cobra.Command {
	var to Target
	cmd := to.command(&cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  segd camera " + use + " yard",
	}, func(ctx context.Context, args []string) error {
		return send(ctx, std, map[string]any{"name": args[0], "paused": paused}, use+"d", to.Camera("").SetCamera)
	})
	cmd.ValidArgsFunction = to.completeAdded(func(c listed) bool { return c.Paused != paused })
	return cmd
}

func removeCommand(std cli.Streams) *cobra.Command {
	var to Target
	cmd := to.command(&cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a camera that was added to a running segd",
		Long:    "With its objects. One of the configuration is removed there.",
		Example: "  segd camera remove yard",
	}, func(ctx context.Context, args []string) error {
		if err := to.Camera("").RemoveCamera(ctx, args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "%s: removed\n", args[0])
		return err
	})
	cmd.ValidArgsFunction = to.completeAdded(func(listed) bool { return true })
	return cmd
}

// listed is a camera as segd lists it.
type listed struct {
	Name, URL, Source, Fault string
	Paused, Kept             bool
	Status                   *struct {
		Up    bool
		Error string
	}
}

// state is how it does, in a few words.
func (c listed) state() string {
	switch {
	case c.Paused:
		return "paused"
	case c.Fault != "":
		return "does not run: " + c.Fault
	case c.Status == nil:
		return "begins"
	case c.Status.Up:
		return "up"
	}
	return "down: " + c.Status.Error
}

// send asks for a change of a camera and says what that came to.
func send(ctx context.Context, std cli.Streams, camera map[string]any, what string, ask func(context.Context, []byte) ([]byte, error)) error {
	body, err := json.Marshal(camera)
	if err != nil {
		return err
	}
	answer, err := ask(ctx, body)
	if err != nil {
		return err
	}
	c, err := decodeAnswer[listed](answer)
	if err != nil {
		return err
	}
	if !c.Kept {
		what += ", until segd ends: it has no nats.store_dir to keep it in"
	}
	_, err = fmt.Fprintf(std.Out, "%s: %s\n", cli.Printable(c.Name), what)
	return err
}

// cameraList is what segd lists.
type cameraList struct{ Cameras []listed }

func (l cameraList) print(out io.Writer) error {
	if len(l.Cameras) == 0 {
		_, err := fmt.Fprintln(out, "no cameras; segd camera add adds one")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSOURCE\tURL\tSTATE")
	for _, c := range l.Cameras {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", cli.Printable(c.Name), cli.Printable(c.Source), cli.Printable(c.URL), cli.Printable(c.state()))
	}
	return table.Flush()
}

func cameraListCommand(std cli.Streams) *cobra.Command {
	return answerCommand[cameraList](std, Target{}, &cobra.Command{
		Use:     "list",
		Short:   "List the cameras of a running segd",
		Long:    "Those of the configuration, and those that were added. No password is shown.",
		Example: "  segd camera list\n  segd camera list --json",
	}, bus.Target.ListCameras)
}

// texts are the settings of a camera whose value is text, whatever it looks like.
var texts = []string{"name", "url", "user", "password", "transport", "decode", "clock", "fingerprint", "annotation"}

// assign puts KEY=VALUE into a camera.
func assign(camera map[string]any, arg string) error {
	key, text, ok := strings.Cut(arg, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q; accepted: KEY=VALUE, such as fps=5", arg)
	}
	if key == "password" {
		return fmt.Errorf("password=…; accepted: --user with --password-file or --password")
	}
	var value any
	switch classes := key == "detect" || key == "detect.classes"; {
	case text == "": // the default
	case slices.Contains(texts, key):
		value = text
	case json.Unmarshal([]byte(text), &value) == nil:
	case classes:
		value = strings.Split(text, ",")
	default:
		value = text
	}
	if _, list := value.([]string); list && key == "detect" {
		key = "detect.classes"
	}
	at := camera
	if outer, inner, ok := strings.Cut(key, "."); ok {
		at, key = group(camera, outer), inner
	}
	at[key] = value
	return nil
}

// group is the group of settings of that name.
func group(camera map[string]any, name string) map[string]any {
	there, ok := camera[name].(map[string]any)
	if !ok {
		there = map[string]any{}
		camera[name] = there
	}
	return there
}
