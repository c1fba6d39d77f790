package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segd/segd/api"
	"github.com/segd/segd/cmd/segd/cli"
)

// EvalCommand is segd eval camera.
func EvalCommand(std cli.Streams) *cobra.Command {
	var page Page
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "camera CAMERA",
		Example: "  segd eval camera gate\n  segd eval camera gate --json",
		Short:   "Say how good the masks of your own camera are",
		Long: "It compares the masks of frames with what people said is true of them: in the page, freeze\n" +
			"the picture and press Check accuracy. J is intersection over union, MISSED the share of\n" +
			"what is true that the mask lacks, FALSE the share of the mask that is not true: means of\n" +
			"the frames that were judged.",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := page.accuracy(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return cli.WriteJSON(std.Out, s)
			}
			return s.print(std.Out)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	page.Register(cmd)
	return cmd
}

// means are those of records.
type means struct {
	Frames int      `json:"frames"`
	J      float64  `json:"j"`
	Missed *float64 `json:"missed"` // of those where something is true; null without one
	False  *float64 `json:"false"`  // of those with a mask; null without one
}

type objectMeans struct {
	ID    uint32 `json:"id"` // 0: segd does not follow it
	Label string `json:"label"`
	means
}

// accuracySummary is how good the masks of a camera are.
type accuracySummary struct {
	Camera string `json:"camera"`
	means
	Objects []objectMeans `json:"objects"`
}

// accuracy asks the page for what people said of a camera's masks.
func (f Page) accuracy(ctx context.Context, camera string) (accuracySummary, error) {
	answer, err := f.ask(ctx, http.MethodGet, "cameras", camera, "accuracy")
	if err != nil {
		return accuracySummary{}, err
	}
	list, err := decodeAnswer[struct{ Records []api.Accuracy }](answer)
	if err == nil && len(list.Records) == 0 {
		err = fmt.Errorf("%s: no records of accuracy; to make some, freeze the picture in the page at %s, press Check accuracy and say what is true", camera, f.url)
	}
	return summarise(camera, list.Records), err
}

func summarise(camera string, records []api.Accuracy) accuracySummary {
	s := accuracySummary{Camera: camera, means: meansOf(records)}
	type object struct {
		id    uint32
		label string // of what has no id
	}
	groups := map[object][]api.Accuracy{}
	for _, r := range records {
		o := object{id: r.ID}
		if r.ID == 0 {
			o.label = r.Label
		}
		groups[o] = append(groups[o], r)
	}
	for o, of := range groups {
		s.Objects = append(s.Objects, objectMeans{o.id, of[len(of)-1].Label, meansOf(of)}) // the newest name
	}
	slices.SortFunc(s.Objects, func(a, b objectMeans) int {
		return cmp.Or(cmp.Compare(a.ID-1, b.ID-1), cmp.Compare(a.Label, b.Label)) // 0 is the last
	})
	return s
}

// meansOf are those of records, of which there may be none.
func meansOf(records []api.Accuracy) (m means) {
	frames := map[uint64]bool{}
	var j, missed, wrong []float64
	for _, r := range records {
		frames[r.Sequence] = true
		j = append(j, r.J)
		if r.Truth > 0 {
			missed = append(missed, r.Missed)
		}
		if r.Mask > 0 {
			wrong = append(wrong, r.False)
		}
	}
	m = means{Frames: len(frames), Missed: mean(missed), False: mean(wrong)}
	if all := mean(j); all != nil {
		m.J = *all
	}
	return m
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	sum /= float64(len(values))
	return &sum
}

func (s accuracySummary) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "OBJECT\tFRAMES\tJ\tMISSED\tFALSE")
	row := func(name string, m means) {
		fmt.Fprintf(table, "%s\t%d\t%.3f\t%s\t%s\n", name, m.Frames, m.J, percent(m.Missed), percent(m.False))
	}
	for _, o := range s.Objects {
		if o.ID == 0 {
			row(cli.Printable(cmp.Or(o.Label, "object"))+", not followed", o.means)
		} else {
			row(cli.Printable(cli.ObjectName(o.ID, o.Label)), o.means)
		}
	}
	row("all", s.means)
	return table.Flush()
}

// percent is a share that there may not be.
func percent(share *float64) string {
	if share == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**share)
}
