package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
)

// completeTimeout is how long a user who has pressed Tab waits.
const completeTimeout = 2 * time.Second

// A shell is told nothing of what goes wrong: the user is typing.

// CompleteAny completes a camera of any site for a command without flags that say where segd is.
func CompleteAny(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return (&natsFlags{url: "nats://" + config.DefaultNATSAddr}).completeAny(cmd, args, toComplete)
}

// completeAny completes a camera of any site.
func (f *natsFlags) completeAny(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return f.names(cmd, args, func(bus.Served) bool { return true }), cobra.ShellCompDirectiveNoFileComp
}

// CompleteCamera completes a camera of the site, and what follows it as rest says.
func (t *Target) CompleteCamera(rest cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, rest
		}
		return t.server.names(cmd, args, func(s bus.Served) bool { return s.Site == t.site }), cobra.ShellCompDirectiveNoFileComp
	}
}

func (f *natsFlags) names(cmd *cobra.Command, args []string, meant func(bus.Served) bool) (names []string) {
	if len(args) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	served, _ := bus.Cameras(ctx, f.url, f.access)
	for _, s := range served {
		if meant(s) {
			names = append(names, s.Camera)
		}
	}
	return names
}

// completeAdded completes a camera that was added while segd ran.
func (t *Target) completeAdded(meant func(listed) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		answer, err := t.Camera("").ListCameras(ctx)
		var list cameraList
		if err != nil || json.Unmarshal(answer, &list) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, c := range list.Cameras {
			if c.Source == "added" && meant(c) && bus.CheckName(c.Name) == nil {
				names = append(names, c.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
