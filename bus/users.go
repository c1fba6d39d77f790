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

// A serviceImport is a service of segd's account, or of JetStream in it, that a user's account imports.
type serviceImport struct {
	subject  string
	response server.ServiceRespType
}

// streamImports are the subjects that the account of those who are not admins imports: of every site, since
// "segd watch CAMERA" asks for a camera wherever it is.
var streamImports = []string{prefix + ".*.*." + string(KindMask), prefix + ".*.*." + string(KindEvent), prefix + ".*.*." + string(KindStatus)}

// serviceImports are what u may ask for at site. Of a stream these look at it, read one message, and take
// the next ones of u's own consumer: a user who could make a consumer could have it deliver, and one who is not
// in an account of its own could have answers sent, where they pass for something else.
func (u User) serviceImports(site string) []serviceImport {
	// Without the first the server answers all of $JS.API itself, that the account has no JetStream.
	all := []serviceImport{{"$JS.API.INFO", server.Singleton}}
	for _, kind := range []Kind{KindEvent, KindMask} {
		stream := StreamName(site, kind)
		of := stream + "." + u.Name
		all = append(all,
			serviceImport{"$JS.API.STREAM.INFO." + stream, server.Singleton},
			serviceImport{"$JS.API.STREAM.MSG.GET." + stream, server.Singleton},
			serviceImport{"$JS.API.CONSUMER.INFO." + of, server.Singleton},
			serviceImport{"$JS.API.CONSUMER.MSG.NEXT." + of, server.Streamed},
			serviceImport{"$JS.ACK." + of + ".>", server.Singleton},
			serviceImport{"$JS.ACK.*.*." + of + ".>", server.Singleton},
		)
	}
	if u.Role != Operator {
		return all
	}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		all = append(all, serviceImport{"$SRV." + verb, server.Streamed}, serviceImport{"$SRV." + verb + ".>", server.Streamed})
	}
	for _, kind := range requests {
		all = append(all, serviceImport{prefix + "." + site + ".*." + string(kind), server.Singleton})
	}
	for _, kind := range siteRequests {
		all = append(all, serviceImport{siteSubject(site, kind), server.Singleton})
	}
	return all
}

// addUsers has opts let users in. An admin is in the server's global account, which is segd's own: its
// streams, buckets and inboxes are there. Each other user is in an account of its own and
// imports what its role may hear and ask for, so that nothing it sends, and no answer it has sent elsewhere,
// reaches anybody but segd's services. The permissions only have the server say what it does not take.
func addUsers(opts *server.Options, site string, users []User) error {
	own := server.NewAccount(server.DEFAULT_GLOBAL_ACCOUNT)
	opts.Accounts = []*server.Account{own}
	for _, u := range users {
		account, permissions := own, (*server.Permissions)(nil)
		if u.Role != Admin {
			account, permissions = server.NewAccount(u.Name), &server.Permissions{Publish: &server.SubjectPermission{}}
			opts.Accounts = append(opts.Accounts, account)
			for _, subject := range streamImports {
				err := errors.Join(own.AddStreamExport(subject, nil), account.AddStreamImport(own, subject, ""))
				if err != nil {
					return fmt.Errorf("bus: user %s hears %s: %w", u.Name, subject, err)
				}
			}
			for _, g := range u.serviceImports(site) {
				err := errors.Join(own.AddServiceExportWithResponse(g.subject, g.response, nil), account.AddServiceImport(own, g.subject, g.subject))
				if err != nil {
					return fmt.Errorf("bus: user %s asks %s: %w", u.Name, g.subject, err)
				}
				permissions.Publish.Allow = append(permissions.Publish.Allow, g.subject)
			}
		}
		if u.NKey != "" {
			opts.Nkeys = append(opts.Nkeys, &server.NkeyUser{Nkey: u.NKey, Permissions: permissions, Account: account})
		} else {
			opts.Users = append(opts.Users, &server.User{Username: u.Name, Password: u.Password, Permissions: permissions, Account: account})
		}
	}
	return nil
}

// isRequest tells whether a message is one, by its headers and the subject of its
// answer. Without one no client waits for an answer: the server itself sends such messages, to where a
// reader of a stream has it. So it does stored messages and its own answers; nor must an answer
// of ours pass for a message of segd's or be a request to JetStream.
func isRequest(reply string, headers map[string][]string) bool {
	for _, of := range []string{"Status", "Nats-Stream"} {
		if len(headers[of]) > 0 {
			return false
		}
	}
	return reply != "" && !strings.HasPrefix(reply, "$") && !strings.HasPrefix(reply, "segd.")
}
