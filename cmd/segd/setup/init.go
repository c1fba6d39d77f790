package setup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/deploy"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/onvif"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/internal/redact"
)

// cameraPaths are where makers put their cameras' main stream, for users who know no
// more of a camera than its address.
var cameraPaths = []string{
	"/stream1",                             // TP-Link Tapo
	"/Streaming/Channels/101",              // Hikvision
	"/cam/realmonitor?channel=1&subtype=0", // Dahua, Amcrest
	"/h264Preview_01_main",                 // Reolink
	"/axis-media/media.amp",                // Axis
	"/unicast/c1/s0/live",                  // Uniview
	"/videoMain",                           // Foscam
	"/onvif1", "/live", "/11",              // many without a name
}

// cameraPathTimeout bounds each of them: a camera that does not know a path says so
// at once.
const cameraPathTimeout = 8 * time.Second

type initFlags struct {
	file           string
	urls, names    []string
	site           string
	fingerprint    string
	force, noProbe bool
}

func initCommand(std cli.Streams) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration for your camera",
		Long: "Looks for cameras, asks for the number of one or the URL of another, waits for a picture\n" +
			"of it, and writes a configuration with that camera and every setting explained. Of a\n" +
			"camera that was found the stream is taken that suits segd best. Of an RTSP camera the\n" +
			"address will do: the paths that makers use are tried. User name and password are asked\n" +
			"for when the camera wants them.\n\n" +
			"With --url nothing is asked. The file holds passwords, so only its owner may read it, and\n" +
			"its group in a folder that hands its own down (setgid), as the package's /etc/segd does;\n" +
			"one that exists is left alone unless --force says otherwise.",
		Example: "  segd init\n" +
			"  segd init --url rtsp://user:password@192.0.2.10/stream1 --name gate\n" +
			"  segd init --url 192.0.2.10 --name gate --url file:yard.mp4 --name yard\n" +
			"  segd init --url whip: --name phone -c /etc/segd/segd.yaml\n" +
			"  segd init --no-probe --url rtsp://192.0.2.10/live -c - >segd.yaml",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "config", "c", "segd.yaml", "file to write; - is standard output")
	flags.StringArrayVar(&f.urls, "url", nil, "URL or address of a camera; repeat it for more")
	flags.StringArrayVar(&f.names, "name", nil, "name of the camera of the same place (default camera1, camera2, …)")
	flags.StringVar(&f.site, "site", config.DefaultSite, "name of the place; it is part of the NATS subjects")
	flags.StringVar(&f.fingerprint, "fingerprint", "", "SHA-256 of the certificate of cameras that made theirs themselves")
	flags.BoolVar(&f.force, "force", false, "replace the file if it exists")
	flags.BoolVar(&f.noProbe, "no-probe", false, "write the URLs without trying them")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flag is there
	return cmd
}

func runInit(ctx context.Context, std cli.Streams, f initFlags) error {
	if f.file != "-" && !f.force { // before anybody answers questions in vain
		if _, err := os.Lstat(f.file); err == nil {
			return cli.Usage(fmt.Errorf("init: %s exists and is left as it is; --force replaces it, -c names another file", f.file))
		}
	}
	if len(f.names) > len(f.urls) && len(f.urls) > 0 {
		return cli.Usage(fmt.Errorf("init: %d names for %d URLs; accepted: a --name for each --url, or fewer", len(f.names), len(f.urls)))
	}
	i := initialiser{out: std.Err, in: bufio.NewReader(std.In), paths: cameraPaths, flags: f, secret: cli.Hidden(std.In)}
	if cli.IsTerminal(std.In) && !f.noProbe {
		i.discover = func(ctx context.Context) ([]onvif.Camera, error) { return onvif.Discover(ctx, discoverTimeout) }
	}
	cameras, err := i.cameras(ctx, cli.IsTerminal(std.In))
	if err != nil {
		return err
	}
	text := configText(f.site, cameras)
	cfg, err := config.Parse(f.file, []byte(text), nil)
	if err != nil {
		return cli.Usage(err)
	}
	if f.file == "-" {
		_, err := io.WriteString(std.Out, text)
		return err
	}
	if err := writeConfig(f.file, text, f.force); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "%s written, with the camera%s %s. Next:\n  segd check -c %[1]s\n  segd run -c %[1]s\n",
		f.file, plural(len(cfg.Cameras)), cameraNames(cfg.Cameras))
	return err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func cameraNames(cameras []config.Camera) string {
	names := make([]string, len(cameras))
	for i, c := range cameras {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// initialiser finds out which cameras there are.
type initialiser struct {
	in     *bufio.Reader
	out    io.Writer // questions, and how trying goes
	secret func() (string, error)
	paths  []string
	flags  initFlags
	// discover finds cameras to choose from; nil: none are looked for.
	discover func(context.Context) ([]onvif.Camera, error)
}

// cameras returns those of the flags, or asks for them.
func (i *initialiser) cameras(ctx context.Context, ask bool) ([]config.Camera, error) {
	if len(i.flags.urls) == 0 {
		if !ask {
			return nil, cli.Usage(errors.New("init: no camera; accepted: --url, or a terminal to be asked at"))
		}
		return i.askForCameras(ctx)
	}
	var list []config.Camera
	for n, u := range i.flags.urls {
		cam := config.Camera{Name: fmt.Sprintf("camera%d", n+1), URL: completeURL(u)}
		if n < len(i.flags.names) {
			cam.Name = i.flags.names[n]
		}
		cam.Fingerprint = i.fingerprint(cam.URL)
		if err := valid(cam); err != nil {
			return nil, err
		}
		found, err := i.find(ctx, cam)
		if err != nil {
			return nil, fmt.Errorf("%w\ninit: nothing was written; --no-probe writes a URL that does not answer", hint(err))
		}
		list = append(list, found)
	}
	return list, nil
}

// fingerprint is the one of the flags where TLS can be meant.
func (i *initialiser) fingerprint(u string) string {
	if strings.HasPrefix(u, "rtsps://") || strings.HasPrefix(u, "mjpeg+https://") || strings.HasPrefix(u, "snapshot+https://") {
		return i.flags.fingerprint
	}
	return ""
}

// hint adds what flag answers err.
func hint(err error) error {
	if sum := ingest.SelfSigned(err); sum != "" {
		return fmt.Errorf("%w\ninit: --fingerprint %s trusts it", err, sum)
	}
	return err
}

// completeURL makes a URL of a mere address, or a file's name.
func completeURL(text string) string {
	return cameraurl.Complete(text, func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	})
}

// valid holds cam to what the configuration accepts.
func valid(cam config.Camera) error {
	if _, err := config.Parse("init", []byte(configText("", []config.Camera{cam})), nil); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// find waits for a picture of cam. Where its URL has no path and none is wanted,
// those that makers use are tried.
func (i *initialiser) find(ctx context.Context, cam config.Camera) (config.Camera, error) {
	if i.flags.noProbe || cam.Published() {
		return cam, nil
	}
	err := i.try(ctx, cam, probeTimeout)
	u, parseErr := url.Parse(cam.URL)
	if err == nil || parseErr != nil || !strings.HasPrefix(u.Scheme, "rtsp") || strings.Trim(u.Path, "/") != "" {
		return cam, err
	}
	for _, path := range i.paths {
		if !errors.Is(err, ingest.ErrNotFound) && !errors.Is(err, ingest.ErrClosed) && !errors.Is(err, ingest.ErrStalled) {
			return cam, err // another path would not help
		}
		there := cam
		there.URL = strings.TrimSuffix(cam.URL, "/") + path
		if err = i.try(ctx, there, cameraPathTimeout); err == nil {
			return there, nil
		}
	}
	if errors.Is(err, ingest.ErrNotFound) {
		return cam, fmt.Errorf("init: %s answers, but has no stream at any of the usual paths; its manual, or its ONVIF page, says the path: %w", u.Host, err)
	}
	return cam, err
}

// try waits for a picture of cam, and tells how that goes.
func (i *initialiser) try(ctx context.Context, cam config.Camera, most time.Duration) error {
	fmt.Fprintf(i.out, "trying %s\n", redact.URL(cam.URL))
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return ingest.First(ctx, cameras.Source(cam, nil), func(*ingest.Frame, codec.ID) {})
}

// askForCameras asks until the user has no more cameras.
func (i *initialiser) askForCameras(ctx context.Context) ([]config.Camera, error) {
	found, err := i.look(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(i.out, "The URL of a camera is such as rtsp://192.0.2.10/stream1; its address alone will do,\n"+
		"and so will a video file. whip: waits for a browser or an encoder to publish.")
	var list []config.Camera
	for {
		what := "Camera: "
		if len(list) > 0 {
			what = "One more camera, or Enter: "
		}
		text, err := i.ask(what)
		switch {
		case errors.Is(err, io.EOF) || err == nil && text == "":
			if len(list) > 0 {
				return list, nil
			}
			return nil, cli.Usage(errors.New("init: no camera was named; nothing was written"))
		case err != nil:
			return nil, err
		}
		cam := config.Camera{Name: fmt.Sprintf("camera%d", len(list)+1), URL: completeURL(text)}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(found) {
			if cam.URL, err = i.stream(ctx, &found[n-1]); err != nil {
				return nil, err
			}
		}
		cam.Fingerprint = i.fingerprint(cam.URL)
		cam, ok, err := i.talkOver(ctx, cam)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, cam)
		}
	}
}

// login asks for user and password. Without a user name the person gave up.
func (i *initialiser) login() (user, password string, err error) {
	user, err = i.ask("User name (Enter gives up): ")
	if err != nil || user == "" {
		return "", "", err
	}
	fmt.Fprint(i.out, "Password: ")
	password, err = i.password()
	return user, password, err
}

// talkOver tries cam, asks for what it turns out to want, and for its name. It is
// not ok if the user wants to name another.
func (i *initialiser) talkOver(ctx context.Context, cam config.Camera) (_ config.Camera, ok bool, err error) {
	for {
		if err := valid(cam); err != nil {
			fmt.Fprintln(i.out, plain.Error(err))
			return cam, false, nil
		}
		found, err := i.find(ctx, cam)
		if ctx.Err() != nil {
			return cam, false, ctx.Err()
		}
		if err == nil {
			return i.name(found)
		}
		fmt.Fprintln(i.out, plain.Error(err))
		again, err := i.amend(&cam, err)
		if err != nil {
			return cam, false, err
		}
		if again {
			continue
		}
		keep, err := i.ask("Keep it all the same? [y/N] ")
		if err != nil || !yes(keep) {
			return cam, false, err
		}
		return i.name(cam)
	}
}

// amend asks for what cam lacks, going by why it did not answer.
func (i *initialiser) amend(cam *config.Camera, why error) (again bool, err error) {
	if sum := ingest.SelfSigned(why); sum != "" {
		answer, err := i.ask("Trust this certificate, and no other, from now on? [y/N] ")
		if err != nil || !yes(answer) {
			return false, err
		}
		cam.Fingerprint = sum
		return true, nil
	}
	if !errors.Is(why, ingest.ErrUnauthorized) {
		return false, nil
	}
	user, password, err := i.login()
	if err != nil || user == "" {
		return false, err
	}
	cam.URL, err = cameraurl.WithUser(cam.URL, user, password)
	return err == nil, err
}

func (i *initialiser) name(cam config.Camera) (config.Camera, bool, error) {
	for {
		text, err := i.ask("Its name [" + cam.Name + "]: ")
		if err != nil && !errors.Is(err, io.EOF) {
			return cam, false, err
		}
		named := cam
		if text != "" {
			named.Name = text
		}
		fault := valid(named)
		if fault == nil {
			return named, true, nil
		}
		fmt.Fprintln(i.out, fault)
	}
}

// ask returns the answer without spaces around it. At the end of the input it is
// io.EOF, unless there was a last word.
func (i *initialiser) ask(question string) (string, error) {
	fmt.Fprint(i.out, question)
	text, err := i.in.ReadString('\n')
	if text = strings.TrimSpace(text); text != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return text, err
}

func (i *initialiser) password() (string, error) {
	if i.secret == nil {
		return i.ask("")
	}
	text, err := i.secret()
	fmt.Fprintln(i.out)
	return text, err
}

func yes(answer string) bool { return strings.HasPrefix(strings.ToLower(answer), "y") }

// configText is the example configuration with cameras in place of its own.
func configText(site string, cameras []config.Camera) string {
	head, _, _ := strings.Cut(deploy.ExampleConfig, "\ncameras:\n")
	if site != "" {
		head = strings.Replace(head, "\nsite: home\n", "\nsite: "+quote(site)+"\n", 1)
	}
	head = strings.Replace(head, "\n  # store_dir: \"\"\n", "\n  store_dir: segd-data # what is known outlives a restart\n", 1)
	at := strings.Index(deploy.ExampleConfig, "    # What is marked by itself")
	detect, _, _ := strings.Cut(deploy.ExampleConfig[at:], "    # Objects to follow")
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("\ncameras:\n  # Name: letters, digits, _ and -; it is part of the NATS subjects.\n")
	for _, c := range cameras {
		fmt.Fprintf(&b, "  - name: %s\n    url: %s\n", quote(c.Name), quote(c.URL))
		if strings.HasPrefix(c.URL, "rtsp") {
			b.WriteString("    # auto tries UDP first and falls back to TCP; tcp and udp insist.\n    # transport: auto\n")
		}
		if c.Snapshots() {
			b.WriteString("    # How often a second it is asked for a picture.\n    # fps: 1\n")
		}
		if c.Fingerprint != "" {
			fmt.Fprintf(&b, "    # SHA-256 of the one certificate it may show.\n    fingerprint: %s\n", quote(c.Fingerprint))
		}
		b.WriteString(detect)
		b.WriteString("    # Objects to follow from the first frame on: a JSON file. Without one, mark them\n" +
			"    # in the page or by `segd annotate`.\n    # annotation: objects.json\n")
	}
	return b.String()
}

// quote writes text as YAML does between double quotes, of which JSON's is a part.
func quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // & is in many cameras' URLs
	if err := enc.Encode(text); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSpace(b.String())
}

// writeConfig writes text to a file that only its owner may read, and its group where the folder hands its own
// down (setgid): that is how a service's user is let in. By force it takes
// the place of another, which is there until the new one is whole.
func writeConfig(path, text string, force bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return cli.Usage(fmt.Errorf("init: %w", err))
	}
	var mode fs.FileMode = 0o600
	if folder, err := os.Stat(filepath.Dir(path)); err == nil && folder.Mode()&fs.ModeSetgid != 0 {
		mode = 0o640
	}
	target := path
	if force {
		target += ".new"
		_ = os.Remove(target) // of an init that was killed
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return cli.Usage(fmt.Errorf("init: %s exists by now and is left as it is; --force replaces it", path))
	case err != nil:
		return cli.Usage(fmt.Errorf("init: %w", err))
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Close()) // whatever the umask
	if err == nil && force {
		err = os.Rename(target, path)
	}
	if err != nil {
		_ = os.Remove(target)
		return fmt.Errorf("init: %w", err)
	}
	return nil
}
