package mqtt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/paho"
)

// The topics of commands, below a camera's.
const (
	commandPause  = "/pause/set"
	commandDetect = "/detect/set"
)

const (
	on  = "ON"
	off = "OFF"

	commandTimeout = 30 * time.Second
	dontSend       = 2 // RetainHandling: what is retained is no command
)

// patches are JSON merge patches of a camera, by topic and payload.
var patches = map[string]map[string]string{
	commandPause:  {on: `{"paused": true}`, off: `{"paused": false}`},
	commandDetect: {on: `{"detect": {"off": null}}`, off: `{"detect": {"off": true}}`},
}

// command is one that waits.
type command struct{ camera, topic, payload string }

// answer is what becomes of one.
type answer struct {
	Command string `json:"command"` // such as pause
	Payload string `json:"payload"`
	Error   string `json:"error"` // empty: it was carried out
	Time    string `json:"time"`
}

// takeCommands subscribes to commands, if they are taken. Of the boxes of a fleet any one takes each.
func (p *Publisher) takeCommands(ctx context.Context, via link) {
	if p.cfg.Set == nil {
		return
	}
	group := ""
	if p.cfg.Box != "" {
		group = "$share/segd-" + level(p.cfg.Site) + "/"
	}
	var options []paho.SubscribeOptions
	for topic := range patches {
		options = append(options, paho.SubscribeOptions{Topic: group + p.cfg.root() + "/camera/+" + topic, QoS: qos, RetainHandling: dontSend})
	}
	p.subscribe(ctx, via, options, "commands by MQTT are not taken: the broker does not let them be subscribed to")
}

// command queues a command, if the topic is that of one.
func (p *Publisher) command(topic string, payload []byte) {
	camera, below, ok := p.cfg.own(topic)
	if !ok || patches[below] == nil || p.cfg.Set == nil {
		return
	}
	const most = 100 // bytes that an answer repeats
	c := command{camera, below, string(payload[:min(len(payload), most)])}
	select {
	case p.commands <- c:
	default:
		p.answer(c, fmt.Errorf("%d commands wait already", maxCommands))
	}
}

// obey carries out commands, one after another, until ctx ends.
func (p *Publisher) obey(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-p.commands:
			err := p.carryOut(ctx, c)
			p.Sync() // who asked sees it at once
			p.answer(c, err)
		}
	}
}

func (p *Publisher) carryOut(ctx context.Context, c command) error {
	patch, ok := patches[c.topic][c.payload]
	if !ok {
		return fmt.Errorf("%q; accepted: %s or %s", c.payload, on, off)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return p.cfg.Set(ctx, c.camera, []byte(patch))
}

// answer publishes what became of a command.
func (p *Publisher) answer(c command, err error) {
	name, _, _ := strings.Cut(c.topic[1:], "/")
	a := answer{Command: name, Payload: c.payload, Time: time.Now().UTC().Format(time.RFC3339Nano)}
	if err != nil {
		a.Error = err.Error()
	}
	text, wrong := json.Marshal(a)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.stats.Commands++
		p.log.Info("a command by MQTT was carried out", "camera", c.camera, "command", name, "payload", c.payload)
	} else {
		p.stats.Faulty++
		p.say("a command by MQTT was not carried out", "camera", c.camera, "command", name, "error", err)
	}
	if wrong == nil { // there is no text that has no JSON
		p.tell(message{p.cfg.camera(c.camera) + topicAnswer, text})
	}
}
