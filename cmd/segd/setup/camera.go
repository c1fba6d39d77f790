package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/ingest/onvif"
	"github.com/segd/segd/internal/redact"
)

// clockTold is from where on a camera's clock is said to be wrong.
const clockTold = 5 * time.Second

func cameraCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "camera",
		Short: "Find cameras, and add, change and remove those of a running segd",
		Example: "  segd camera discover\n" +
			"  segd camera list",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(discoverCommand(std))
	return cmd
}

type discoverFlags struct {
	find         onvif.Config
	login        cli.Login
	show, asJSON bool
}

func discoverCommand(std cli.Streams) *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use:   "discover [HOST...]",
		Short: "Find the cameras of this network, and the URLs of their streams",
		Long: "Asks the network for cameras (ONVIF, WS-Discovery), and each camera for its streams; a\n" +
			"star marks the one whose size and rate suit segd best, with its line for segd.yaml. A\n" +
			"HOST, HOST:PORT or http://HOST:PORT/PATH is asked instead of the network, where that\n" +
			"does not carry multicast, as in most containers.\n\n" +
			"Most cameras tell their streams to a user only. With --user and no password that is\n" +
			"asked for. Every camera that answers is sent a digest of it, which a false one could\n" +
			"try to guess the password from: name a HOST where others may be on the network.",
		Example: "  segd camera discover\n" +
			"  segd camera discover --user admin --password-file camera.secret\n" +
			"  segd camera discover 192.0.2.10 --user admin --show-passwords\n" +
			"  segd camera discover --json --timeout 10s --interface eth0",
		RunE: func(cmd *cobra.Command, hosts []string) error {
			f.find.Hosts = hosts
			return discover(cmd.Context(), std, f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.find.Timeout, "timeout", onvif.DefaultTimeout, "how long answers of the network are waited for")
	flags.StringArrayVar(&f.find.Interfaces, "interface", nil, "network interface to ask by; repeat it for more (default all)")
	flags.BoolVar(&f.show, "show-passwords", false, "print URLs with user and password in them")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON array")
	f.login.Flags(cmd, "the cameras")
	return cmd
}

// errNoStreams is returned when no camera that was named told its streams; why, has been
// printed.
var errNoStreams = errors.New("camera discover: no streams were found, see above")

func discover(ctx context.Context, std cli.Streams, f discoverFlags) error {
	if f.find.Timeout <= 0 || f.find.Timeout > time.Minute {
		return cli.Usage(fmt.Errorf("camera discover: --timeout %v; accepted: more than 0, up to 1m", f.find.Timeout))
	}
	var err error
	f.find.User = f.login.User
	if f.find.Password, err = f.login.Password(std); err != nil {
		return fmt.Errorf("camera discover: %w", err)
	}
	found, err := onvif.Find(ctx, f.find)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // of the command line: an interface or a host that is none
		return cli.Usage(err)
	}
	for i := range found {
		if found[i].Device != nil {
			for j := range found[i].Device.Profiles {
				p := &found[i].Device.Profiles[j]
				p.URL = streamURL(p.URL, f.find.User, f.find.Password, f.show)
			}
		}
	}
	if f.asJSON {
		err = cli.WriteJSON(std.Out, found)
	} else {
		for _, c := range found {
			err = errors.Join(err, printCamera(std.Out, c, f.find.User != ""))
		}
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("camera discover: no camera answered within %v; a camera has ONVIF switched on by its own page often, "+
			"and hears nothing from another network: name its address", f.find.Timeout)
	}
	if len(f.find.Hosts) > 0 && !slices.ContainsFunc(found, func(c onvif.Camera) bool { return c.Device != nil }) {
		return errNoStreams
	}
	return nil
}

// streamURL is the URL of a stream as it is shown: with a placeholder for user and
// password if there are any, and without other secrets.
func streamURL(text, user, password string, show bool) string {
	if text == "" || user == "" {
		if show {
			return text
		}
		return redact.URL(text)
	}
	u, err := url.Parse(text)
	if err != nil { // it was one
		return redact.URL(text)
	}
	if show {
		u.User = url.UserPassword(user, password)
		return u.String()
	}
	return redact.URL(strings.Replace(text, "://", "://USER:PASSWORD@", 1))
}

// printCamera prints what people want to know of c.
func printCamera(w io.Writer, c onvif.Camera, signed bool) error {
	paint := cli.StyleOf(w)
	fmt.Fprintln(w, paint.Head(cli.Printable(title(c))))
	if c.Device == nil {
		fmt.Fprintf(w, "  %s\n", paint.Odd(cli.Printable(strings.TrimPrefix(c.Error, "onvif: "))))
		if c.Unauthorized && !signed {
			fmt.Fprintln(w, "  --user names one")
		}
		return nil
	}
	if ahead := time.Duration(c.Device.ClockAhead * float64(time.Second)); c.Device.ClockKnown && ahead.Abs() > clockTold {
		fmt.Fprintf(w, "  %s\n", paint.Odd("its clock is "+onvif.Skew(ahead)+", and so may capture times be"))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tPROFILE\tCODEC\tSIZE\tRATE\tURL")
	for _, p := range c.Device.Profiles {
		mark, size, rate, where := " ", "–", "–", p.URL
		if p.Picked {
			mark = "*"
		}
		if p.Width > 0 && p.Height > 0 {
			size = fmt.Sprintf("%d×%d", p.Width, p.Height)
		}
		if p.FPS > 0 {
			rate = fmt.Sprintf("%.4g/s", p.FPS)
		}
		if where == "" {
			where = "none: " + strings.TrimPrefix(p.Error, "onvif: ")
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", mark, cli.Printable(p.Name), cli.Printable(p.Encoding), size, rate, cli.Printable(where))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if p := c.Picked(); p != nil {
		_, err := fmt.Fprintf(w, "  url: %s\n", quote(p.URL))
		if strings.Contains(p.URL, redact.Hidden) {
			_, err = fmt.Fprintf(w, "  what may be secret in it stands as %s; --show-passwords shows it\n", redact.Hidden)
		}
		return err
	}
	_, err := fmt.Fprintln(w, "  none of them is H.264, H.265 or MJPEG over RTSP")
	return err
}

// title is a camera's address, and what it calls itself.
func title(c onvif.Camera) string {
	names := slices.DeleteFunc([]string{c.Name, c.Hardware}, func(s string) bool { return s == "" })
	if len(names) == 0 {
		return c.Address
	}
	return c.Address + "  " + strings.Join(slices.Compact(names), ", ")
}
