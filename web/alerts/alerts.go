package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/segd/segd/internal/limit"
)

const (
	fresh     = 5 * time.Second // for how long an answer counts
	patience  = 3 * time.Second // for which the Alertmanager may not answer
	maxAlerts = 50
	maxGiven  = 10_000   // alerts in an answer
	maxAnswer = 8 << 20  // bytes; a thousand alerts take one or two
	maxAlert  = 64 << 10 // bytes of one alert
	maxText   = 1 << 10  // bytes of each of an alert's
	prefix    = "Segd"   // of the names of segd's alerts
)

// Alert is one that fires. All but Runbook is as the Alertmanager says.
type Alert struct {
	Name        string    `json:"name"`
	Severity    string    `json:"severity"` // critical, warning or info
	Summary     string    `json:"summary"`
	Description string    `json:"description"`
	Since       time.Time `json:"since"`
	Runbook     string    `json:"runbook"` // what to do, as text; empty for an alert that the runbook does not know
}

// Firing is what fires, the most severe first and of these the newest: 50 at most. More says how many others do.
type Firing struct {
	Alerts []Alert `json:"alerts"`
	More   int     `json:"more"`
}

// Client asks one Alertmanager.
type Client struct {
	url     string
	http    http.Client
	runbook map[string]string
	log     *slog.Logger

	turn chan struct{} // holds one for who uses what follows
	at   time.Time     // of the answer
	last Firing
	err  error
}

// New returns a Client of the Alertmanager at base, with a runbook of Markdown that has a heading for each alert. A nil log
// discards.
func New(base, runbook string, log *slog.Logger) *Client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	query := url.Values{
		"active": {"true"}, "silenced": {"false"}, "inhibited": {"false"}, "unprocessed": {"false"},
		"filter": {`alertname=~"` + prefix + `.+"`}, // it may have those of others
	}
	return &Client{
		url: strings.TrimRight(base, "/") + "/api/v2/alerts?" + query.Encode(), runbook: sections(runbook), log: log, turn: make(chan struct{}, 1),
		http: http.Client{
			Timeout:       patience,
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: limit.MaxHeader, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

var (
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	wrapped = regexp.MustCompile(`([^\n])\n {0,2}([^\n\- ])`) // a line that goes on with the next
)

// sections are the texts below a runbook's headings by these, without links and with a line for each paragraph.
func sections(runbook string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(runbook, "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		text = link.ReplaceAllString(strings.TrimSpace(text), "$1")
		out[name] = strings.ReplaceAll(wrapped.ReplaceAllString(text, "$1 $2"), "**", "")
	}
	return out
}

// Firing tells which alerts fire. It waits a few seconds at most.
func (c *Client) Firing(ctx context.Context) (Firing, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Firing{}, ctx.Err()
	}
	if !c.at.IsZero() && time.Since(c.at) < fresh {
		return c.last, c.err
	}
	was := c.err
	c.last, c.err = c.ask(context.WithoutCancel(ctx)) // others get the answer, too
	c.at = time.Now()
	switch {
	case c.err != nil && was == nil:
		c.log.Warn("the page does not show which alerts fire", "error", c.err)
	case c.err == nil && was != nil:
		c.log.Info("the page shows again which alerts fire")
	}
	return c.last, c.err
}

// given is an alert as the Alertmanager has it.
type given struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
}

// Faults of an answer.
var (
	errLarge = fmt.Errorf("larger than %s", limit.Text(maxAnswer))
	errAlert = fmt.Errorf("an alert larger than %s", limit.Text(maxAlert))
	errMany  = fmt.Errorf("more than %d alerts", maxGiven)
)

func (c *Client) ask(ctx context.Context) (Firing, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return Firing{}, fmt.Errorf("alerts: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Firing{}, fmt.Errorf("alerts: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	out := Firing{Alerts: []Alert{}}
	if res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	} else {
		err = read(res.Body, func(g given) {
			text := func(from map[string]string, key string) string { return limit.Cut(from[key], maxText) }
			if name := text(g.Labels, "alertname"); strings.HasPrefix(name, prefix) {
				out.Alerts = append(out.Alerts, Alert{
					Name: name, Severity: text(g.Labels, "severity"), Summary: text(g.Annotations, "summary"),
					Description: text(g.Annotations, "description"), Since: g.StartsAt, Runbook: c.runbook[name],
				})
			}
		})
	}
	if err != nil {
		return Firing{}, fmt.Errorf("alerts: the Alertmanager's answer: %w; accepted: that of its API v2", err)
	}
	slices.SortStableFunc(out.Alerts, func(a, b Alert) int {
		if d := rank(a.Severity) - rank(b.Severity); d != 0 {
			return d
		}
		return b.Since.Compare(a.Since)
	})
	if out.More = max(0, len(out.Alerts)-maxAlerts); out.More > 0 {
		out.Alerts = slices.Clone(out.Alerts[:maxAlerts])
	}
	return out, nil
}

// read decodes an answer's alerts, one after the other.
func read(body io.Reader, take func(given)) (err error) {
	part := &io.LimitedReader{R: body, N: maxAlert}
	defer func() {
		if err != nil && part.N == 0 {
			err = errAlert
		}
	}()
	all := json.NewDecoder(part)
	t, err := all.Token()
	switch {
	case err != nil:
		return err
	case t != json.Delim('['):
		return fmt.Errorf("begins with %v; want a list", t)
	}
	for n := 0; all.More(); n++ {
		if n == maxGiven {
			return errMany
		}
		part.N = maxAlert
		var g given
		if err := all.Decode(&g); err != nil {
			return err
		}
		if all.InputOffset() > maxAnswer {
			return errLarge
		}
		take(g)
	}
	_, err = all.Token()
	return err
}

// rank is 0 for the most severe.
func rank(severity string) int {
	if i := slices.Index([]string{"critical", "warning", "info"}, severity); i >= 0 {
		return i
	}
	return 3
}
