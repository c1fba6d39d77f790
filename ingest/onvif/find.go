package onvif

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Camera is one that was found.
type Camera struct {
	// Endpoint is its endpoint reference, which it keeps when its address changes.
	Endpoint string `json:"endpoint,omitempty"`
	// Name and Hardware are what it calls itself; both may be empty.
	Name     string `json:"name,omitempty"`
	Hardware string `json:"hardware,omitempty"`
	// Address is its IP address, or the host that was given.
	Address string `json:"address"`
	// Services are URLs of its device service, the one to ask first.
	Services []string `json:"services"`
	// Device is what it says of itself; nil if Err says why.
	Device *Device `json:"device,omitempty"`
	// Unauthorized says that it wants a user, or another one.
	Unauthorized bool   `json:"unauthorized,omitempty"`
	Error        string `json:"error,omitempty"`
	Err          error  `json:"-"`
}

// Picked returns the profile of c that suits segd best, or nil.
func (c *Camera) Picked() *Profile {
	if c.Device != nil {
		for i := range c.Device.Profiles {
			if p := &c.Device.Profiles[i]; p.Picked {
				return p
			}
		}
	}
	return nil
}

// Ask asks c for its profiles and sets what that brings: Device, with the profile of
// about shortSide picked, or Error.
func (c *Camera) Ask(ctx context.Context, user, password string, shortSide int) {
	c.Device, c.Err, c.Error, c.Unauthorized = nil, errors.New("onvif: it names no address"), "", false
	if len(c.Services) > 0 {
		c.Device, c.Err = Inspect(ctx, c.Services[0], user, password)
	}
	if c.Err != nil {
		c.Error, c.Unauthorized = c.Err.Error(), errors.Is(c.Err, ErrUnauthorized)
		return
	}
	if i := Pick(c.Device.Profiles, shortSide); i >= 0 {
		c.Device.Profiles[i].Picked = true
	}
}

// Config says what to find.
type Config struct {
	// Timeout is how long answers to the probe are waited for; 0: DefaultTimeout.
	Timeout time.Duration
	// Interfaces to probe by; none: all.
	Interfaces []string
	// Hosts are asked instead of the network: addresses as Inspect takes them.
	Hosts []string
	// User and Password are for all cameras. Each that answers is sent a digest of them.
	User, Password string
	// ShortSide is that of the pictures wanted; 0: DefaultShortSide.
	ShortSide int
}

// atOnce is how many cameras are asked at once.
const atOnce = 8

// Find finds cameras and asks each for its profiles. The error is of cfg and of finding;
// what a camera lacks is in its Error.
func Find(ctx context.Context, cfg Config) ([]Camera, error) {
	var list []Camera
	for _, host := range cfg.Hosts {
		u, err := deviceURL(host)
		if err != nil {
			return nil, err
		}
		list = append(list, Camera{Address: u.Host, Services: []string{u.String()}})
	}
	if len(cfg.Hosts) == 0 {
		var err error
		if list, err = Discover(ctx, cfg.Timeout, cfg.Interfaces...); err != nil {
			return nil, err
		}
	}
	var wait sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range list {
		free <- struct{}{}
		wait.Go(func() {
			list[i].Ask(ctx, cfg.User, cfg.Password, cfg.ShortSide)
			<-free
		})
	}
	wait.Wait()
	return list, ctx.Err()
}
