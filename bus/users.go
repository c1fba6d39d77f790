package bus

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Role is what a user of the server inside this process may do.
type Role string

// The roles, each with all rights of those before it.
const (
	// Subscriber may hear masks, events and status, and read the site's streams.
	Subscriber Role = "subscriber"
	// Operator may ask segd, and for who answers.
	Operator Role = "operator"
	// Admin may do everything.
	Admin Role = "admin"
)

// User may log in to the server inside this process.
type User struct {
	Name string // as CheckName has it
	// Password, in clear or hashed by bcrypt ($2a$…), or NKey, the public one (U…).
	Password, NKey string
	Role           Role
}

// checkUsers returns all faults. No password is in them.
func checkUsers(users []User) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrAccess}, args...)...))
	}
	names, keys := map[string]bool{}, map[string]bool{}
	for i, u := range users {
		if err := CheckName(u.Name); err != nil {
			fault("user %d: %w", i, err)
		}
		if names[u.Name] {
			fault("user %q is there twice; want names that differ", u.Name)
		}
		names[u.Name] = true
		switch {
		case (u.Password == "") == (u.NKey == ""):
			fault("user %q: want a password or a public NKey, one of them", u.Name)
		case u.NKey != "" && !nkeys.IsValidPublicUserKey(u.NKey):
			fault("user %q: NKey is not a user's public one; want U…, as \"nk -inkey FILE -pubout\" prints it", u.Name) // it may be the seed
		case u.NKey != "" && keys[u.NKey]:
			fault("user %q: another one has that NKey; want keys that differ", u.Name)
		}
		keys[u.NKey] = true
		if !slices.Contains([]Role{Subscriber, Operator, Admin}, u.Role) {
			fault("user %q: role %q; want %s, %s or %s", u.Name, u.Role, Subscriber, Operator, Admin)
		}
	}
	return errors.Join(faults...)
}

// logins are the server's for users at site.
func logins(site string, users []User) (byPassword []*server.User, byKey []*server.NkeyUser) {
	for _, u := range users {
		if u.NKey != "" {
			byKey = append(byKey, &server.NkeyUser{Nkey: u.NKey, Permissions: u.permissions(site)})
		} else {
			byPassword = append(byPassword, &server.User{Username: u.Name, Password: u.Password, Permissions: u.permissions(site)})
		}
	}
	return byPassword, byKey
}

// Inbox is the prefix of the inboxes that a subscriber has for itself. NATS' usual
// one would let it hear what others are answered.
func (u User) Inbox() string { return "_INBOX_" + u.Name }

// permissions are u's at site; nil is everything. docs/nats.md tells of them.
func (u User) permissions(site string) *server.Permissions {
	if u.Role == Admin {
		return nil
	}
	// Of every site: "segd watch CAMERA" asks for a camera wherever it is.
	hear := []string{u.Inbox() + ".>"}
	for _, kind := range []Kind{KindMask, KindEvent, KindStatus} {
		hear = append(hear, prefix+".*.*."+string(kind))
	}
	// What reads a stream: look it up, make a consumer, have it deliver, remove it.
	say := []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST"}
	for _, kind := range []Kind{KindEvent, KindMask} {
		for _, s := range []string{
			"$JS.API.STREAM.INFO.%s", "$JS.API.STREAM.MSG.GET.%s",
			"$JS.API.CONSUMER.CREATE.%s", "$JS.API.CONSUMER.CREATE.%s.>", "$JS.API.CONSUMER.DURABLE.CREATE.%s.*",
			"$JS.API.CONSUMER.INFO.%s.*", "$JS.API.CONSUMER.DELETE.%s.*", "$JS.API.CONSUMER.MSG.NEXT.%s.*", "$JS.API.CONSUMER.NAMES.%s", "$JS.API.CONSUMER.LIST.%s",
			"$JS.ACK.%s.>", "$JS.ACK.*.*.%s.>", "$JS.FC.%s.>", "$JS.FC.*.*.%s.>",
		} {
			say = append(say, fmt.Sprintf(s, StreamName(site, kind)))
		}
	}
	if u.Role == Operator {
		hear = append(hear, "_INBOX.>")
		say = append(say, "$SRV.PING", "$SRV.PING.>", "$SRV.INFO", "$SRV.INFO.>", "$SRV.STATS", "$SRV.STATS.>")
		for _, kind := range requests {
			say = append(say, prefix+"."+site+".*."+string(kind))
		}
		for _, kind := range siteRequests {
			say = append(say, siteSubject(site, kind))
		}
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: say},
		Subscribe: &server.SubjectPermission{Allow: hear},
	}
}

// isRequest tells whether a message is one, by its headers and the subject of its
// answer. The server puts stored messages and its own answers wherever whoever may read
// a stream has it, so those must not do what their reader may not; nor must an answer
// of ours pass for a mask.
func isRequest(reply string, headers map[string][]string) bool {
	for _, of := range []string{"Status", "Nats-Stream"} {
		if len(headers[of]) > 0 {
			return false
		}
	}
	return !strings.HasPrefix(reply, "$") && !strings.HasPrefix(reply, prefix+".")
}
