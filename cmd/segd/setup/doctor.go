package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/cpu"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/plain"
)

func doctorCommand(std cli.Streams, version string) *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine can do for segd, and what is missing",
		Long: "Looks at the processor and its memory, at OpenCV and the graphics cards it can use,\n" +
			"runs the model, opens every decoder, and looks for the demo's clip, free ports, a NATS\n" +
			"server and a clock that is set. Where something is missing, the line after it is the\n" +
			"command that helps.\n\n" +
			"Ports and NATS are those of the configuration, if one is named, and else the default\n" +
			"ones; `segd check` dials its cameras too. The exit status is 0 if segd can run here.",
		Example: "  segd doctor\n" +
			"  segd doctor -c /etc/segd/segd.yaml\n" +
			"  segd doctor --json",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := doctorConfig(cmd.Context(), file)
			if err != nil {
				return err
			}
			return doctor(cmd.Context(), std, version, cfg, file != "", asJSON)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "configuration file whose ports and NATS server are looked at")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output")
	return cmd
}

// doctorConfig reads file, or stands in for it: a camera that anybody may publish
// to makes segd listen on all that it ever does.
func doctorConfig(ctx context.Context, file string) (*config.Config, error) {
	if file != "" {
		return cli.LoadConfig(ctx, file)
	}
	cfg, err := config.Parse("doctor", []byte("cameras: [{name: any, url: 'whip:'}]"), os.Environ())
	if err != nil {
		return nil, cli.Usage(err)
	}
	return cfg, nil
}

// verdict on one finding.
type verdict string

const (
	fine    verdict = "ok"
	lacking verdict = "note"    // segd runs, and could do better
	missing verdict = "missing" // segd, or a part of it, does not run
)

// finding is one thing that doctor looked at.
type finding struct {
	What    string  `json:"what"`
	Verdict verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	// Fix is a command, or what else helps.
	Fix string `json:"fix,omitempty"`
}

// doctorReport is what `segd doctor --json` prints. Its fields are stable.
type doctorReport struct {
	Version  string    `json:"version"`
	OK       bool      `json:"ok"` // nothing is missing
	OpenCV   dnn.Build `json:"opencv"`
	Findings []finding `json:"findings"`
}

var errDoctor = errors.New("something is missing, see above")

func doctor(ctx context.Context, std cli.Streams, version string, cfg *config.Config, named, asJSON bool) error {
	r := doctorReport{Version: version, OK: true, OpenCV: dnn.OpenCV()}
	looks := []func() []finding{
		func() []finding { return []finding{lookAtCPU(), lookAtMemory()} },
		func() []finding { return []finding{lookAtOpenCV(r.OpenCV), lookAtGPU(r.OpenCV, gpuTraces("/"))} },
		func() []finding { return lookAtModel(ctx, cfg.Model) },
		lookAtCodecs,
		func() []finding { return []finding{lookAtClip(demo.FindClip())} },
		func() []finding { return lookAtPorts(ctx, cfg, named) },
		func() []finding { return []finding{lookAtNATS(ctx, cfg)} },
		func() []finding { return []finding{lookAtClock(clockState())} },
	}
	bar := cli.NewProgress(std.Err, "looking")
	for i, look := range looks {
		r.Findings = append(r.Findings, look()...)
		bar.Step(i+1, len(looks))
	}
	bar.End()
	for i, f := range r.Findings {
		r.Findings[i].Detail = plain.Text(f.Detail)
		r.OK = r.OK && f.Verdict != missing
	}
	if asJSON {
		if err := cli.WriteJSON(std.Out, r); err != nil {
			return err
		}
	} else {
		tell(std.Out, r.Findings)
	}
	if !r.OK {
		return errDoctor
	}
	return nil
}

// tell prints a line a finding, and one more where something helps.
func tell(w io.Writer, findings []finding) {
	paint := cli.StyleOf(w)
	for _, f := range findings {
		word := fmt.Sprintf("%-7s", f.Verdict)
		switch f.Verdict {
		case fine:
			word = paint.Good(word)
		case lacking:
			word = paint.Odd(word)
		case missing:
			word = paint.Bad(word)
		}
		fmt.Fprintf(w, "%s  %s  %s\n", word, paint.Head(fmt.Sprintf("%-16s", f.What)), f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(w, "%25s  %s\n", "→", f.Fix)
		}
	}
}

// lookAtCPU names the vector instructions that matter: the network and the
// solver's Gram matrices are nearly all of a frame's time.
func lookAtCPU() finding {
	f := finding{What: "processor", Verdict: fine, Detail: fmt.Sprintf("%s, %d cores", runtime.GOARCH, runtime.NumCPU())}
	var has []string
	for _, feature := range []struct {
		name string
		here bool
	}{
		{"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512", cpu.X86.HasAVX512F},
		{"NEON", runtime.GOARCH == "arm64" && cpu.ARM64.HasASIMD},
	} {
		if feature.here {
			has = append(has, feature.name)
		}
	}
	if len(has) > 0 {
		f.Detail += ", " + strings.Join(has, " ")
	}
	if runtime.GOARCH == "amd64" && (!cpu.X86.HasAVX2 || !cpu.X86.HasFMA) {
		f.Verdict, f.Fix = lacking, "without AVX2 and FMA a frame takes several times as long; on a virtual machine, let it see the host's processor"
	}
	return f
}

const (
	// doctorMemory is what one camera takes at 1080p, with room.
	doctorMemory = 1 << 30
	mib          = 1 << 20
)

func lookAtMemory() finding {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return finding{"memory", lacking, err.Error(), ""}
	}
	total := info.Totalram * uint64(info.Unit)
	f := finding{What: "memory", Verdict: fine, Detail: fmt.Sprintf("%d MiB", total/mib)}
	if total < doctorMemory {
		f.Verdict, f.Fix = lacking, fmt.Sprintf("%d MiB or more are better; smaller pictures and fewer cameras need less", doctorMemory/mib)
	}
	return f
}

func lookAtOpenCV(b dnn.Build) finding {
	if b.Version == "" {
		return finding{"OpenCV", fine, "this segd is built without: ONNX Runtime alone computes models, and none of Caffe", ""}
	}
	has := "without CUDA"
	if b.CUDA {
		has = "with CUDA"
		if b.CUDNN {
			has += " and cuDNN"
		}
	}
	return finding{"OpenCV", fine, fmt.Sprintf("%s, %s, threads by %s, uses %s", b.Version, has, b.Parallel, b.Dispatched), ""}
}

// gpuTraces lists what under root says that there is an NVIDIA card or module.
func gpuTraces(root string) []string {
	var found []string
	for _, pattern := range []string{"dev/nvidia[0-9]*", "dev/nvhost-gpu", "dev/nvgpu/igpu0", "proc/driver/nvidia/version"} {
		matches, err := filepath.Glob(filepath.Join(root, pattern))
		if err == nil { // a pattern that is wrong in itself is the only error
			found = append(found, matches...)
		}
	}
	return found
}

func lookAtGPU(b dnn.Build, traces []string) finding {
	f := finding{What: "CUDA", Verdict: fine}
	switch {
	case b.CUDADevices > 0:
		f.Detail = fmt.Sprintf("%d devices", b.CUDADevices)
	case len(traces) == 0:
		f.Detail = "no NVIDIA device here; segd computes on the processor"
	case !b.CUDA:
		without := "this OpenCV was built without CUDA"
		if b.Version == "" {
			without = "this segd is built without OpenCV, which computes on cards"
		}
		f.Verdict, f.Detail = lacking, traces[0]+" is there, but "+without+"; segd computes on the processor"
		f.Fix = "make image IMAGE=cuda builds an image with one that has it; docs/gpu.md has other ways"
	default:
		f.Verdict, f.Detail = lacking, traces[0]+" is there, but its driver is missing or older than this CUDA wants"
		f.Fix = "nvidia-smi"
	}
	return f
}

func lookAtModel(ctx context.Context, cfg config.Model) []finding {
	path := cmp.Or(cfg.Path, dnn.EmbeddedName)
	info, err := dnn.Probe(ctx, path, configured.ModelOptions(cfg))
	if err != nil {
		return []finding{{"model", missing, err.Error(), engineFix}}
	}
	return append([]finding{
		{"model", fine, fmt.Sprintf("%s, %.1f ms at %d×%d by %s", info.Path, info.Milliseconds, info.NominalWidth, info.NominalHeight, info.Device), ""},
	}, lookAtEngines(info)...)
}

// engineFix is what helps where ONNX Runtime does not compute.
const engineFix = "scripts/setup gets ONNX Runtime, segd's packages have it, and model.engine_library names one that is elsewhere"

// lookAtEngines tells what computes the model, and what the other engine would take.
func lookAtEngines(info dnn.Info) []finding {
	var list []finding
	for _, e := range info.Engines {
		f := finding{What: "engine", Verdict: fine, Detail: strings.Join(strings.Fields(e.Name+" "+e.Version+" on "+e.Device), " ")}
		if e.Milliseconds > 0 {
			f.Detail += fmt.Sprintf(", %.1f ms", e.Milliseconds)
		}
		if e.Name == info.Engine && e.Device == info.Device {
			f.Detail += ", computes the model"
			if info.Batch > 1 {
				f.Detail += fmt.Sprintf(", up to %d pictures in a run", info.Batch)
			}
		}
		if e.Unbatched != "" {
			f.Detail += ", one picture at a time: " + e.Unbatched
		}
		if e.Error != "" {
			f.Verdict, f.Detail = lacking, f.Detail+": "+e.Error
			f.Fix = engineFix
			if e.Device != dnn.DeviceCPU {
				f.Fix = "nvidia-smi says whether there is a card; docs/gpu.md what it wants"
			}
		}
		list = append(list, f)
	}
	return list
}

func lookAtCodecs() []finding {
	var able []string
	var list []finding
	for id := codec.H264; id <= codec.AV1; id++ {
		d, err := codec.NewDecoder(id)
		if err != nil {
			list = append(list, finding{id.String(), missing, err.Error(), "apt-get install --reinstall libavcodec59"})
			continue
		}
		d.Close()
		able = append(able, id.String())
	}
	list = append([]finding{{"decoders", fine, strings.Join(able, ", "), ""}}, list...)
	e, err := codec.NewEncoder(codec.EncoderConfig{Width: 64, Height: 64})
	if err != nil {
		return append(list, finding{"encoder", missing, "for segd demo: " + err.Error(), "apt-get install libavcodec59 libx264-164"})
	}
	e.Close()
	return append(list, finding{"encoder", fine, "H.264, for segd demo", ""})
}

func lookAtClip(path string) finding {
	if _, err := os.Stat(path); err != nil {
		// Container images leave /usr/share/doc out of every package.
		return finding{"demo clip", lacking, "segd demo needs " + path,
			"apt-get install -o Dpkg::Options::=--path-include=" + filepath.Dir(demo.ClipPath) + "/* --reinstall --no-install-recommends opencv-doc"}
	}
	return finding{"demo clip", fine, path, ""}
}

// lookAtPorts tries those of cfg; where cfg was not named, any segd may have them.
func lookAtPorts(ctx context.Context, cfg *config.Config, named bool) []finding {
	r := segdAt(ctx, cfg)
	if !named {
		r = running{there: r.there}
	}
	var list []finding
	for _, a := range addresses(cfg) {
		f := finding{What: a.setting, Verdict: fine, Detail: a.network + " " + a.addr + " is free"}
		if err := a.free(ctx); err != nil {
			f.Verdict, f.Detail, f.Fix = missing, err.Error(), a.who()
			if before, _, ok := strings.Cut(f.Detail, ": `"); ok {
				f.Detail = before
			}
			if r.there {
				if detail, err := r.taken(a); err == nil {
					f.Verdict, f.Detail, f.Fix = fine, a.network+" "+a.addr+" is "+detail, ""
				} else {
					f.Detail = err.Error()
				}
			}
		}
		list = append(list, f)
	}
	return list
}

func lookAtNATS(ctx context.Context, cfg *config.Config) finding {
	if cfg.NATS.URL == "" {
		return finding{"NATS", fine, "inside segd, at " + cfg.NATS.Addr, ""}
	}
	url, err := checkNATS(ctx, cfg)
	if err != nil {
		return finding{"NATS", missing, err.Error(), "nats server check connection; is nats.url right, and may this machine reach it?"}
	}
	return finding{"NATS", fine, strings.TrimPrefix(url, ": ") + " answers", ""}
}

// clockUnset is the state of a clock that nothing keeps right: TIME_ERROR of adjtimex(2).
const clockUnset = 5

func clockState() (int, error) { return syscall.Adjtimex(new(syscall.Timex)) }

// lookAtClock: latencies compare a camera's clock with this machine's.
func lookAtClock(state int, err error) finding {
	switch {
	case err != nil:
		return finding{"clock", lacking, "cannot be asked: " + err.Error(), ""}
	case state == clockUnset:
		return finding{"clock", lacking, "nothing keeps it right, so times of capture and latencies may be off", "apt-get install systemd-timesyncd"}
	}
	return finding{"clock", fine, "is kept right", ""}
}
