package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// maxPassword bounds a file with a password.
const maxPassword = 4096

// Login is a user, and where its password is.
type Login struct {
	User           string
	password, file string
}

// Flags are --user, which is of whose, --password and --password-file.
func (l *Login) Flags(cmd *cobra.Command, whose string) {
	flags := cmd.Flags()
	flags.StringVar(&l.User, "user", "", "user of "+whose)
	flags.StringVar(&l.password, "password", "", "its password; others on this machine may see it")
	flags.StringVar(&l.file, "password-file", "", "file with its password")
	cmd.MarkFlagsMutuallyExclusive("password", "password-file")
	_ = cmd.MarkFlagFilename("password-file") // the flag is there
}

// Password returns the password that goes with the user, which is asked for if it is nowhere else. The error
// is of the command line.
func (l *Login) Password(std Streams) (string, error) {
	switch {
	case l.User == "" && (l.password != "" || l.file != ""):
		return "", Usage(errors.New("a password without a user; accepted: --user beside it"))
	case l.User == "" || l.password != "":
		return l.password, nil
	case l.file != "":
		text, err := readPassword(l.file)
		if err != nil {
			return "", Usage(err)
		}
		return text, nil
	}
	ask := Hidden(std.In)
	if ask == nil {
		return "", Usage(errors.New("--user without a password; accepted: --password-file, --password, or a terminal to be asked at"))
	}
	fmt.Fprint(std.Err, "Password: ")
	text, err := ask()
	fmt.Fprintln(std.Err)
	return text, err
}

func readPassword(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPassword+1))
	if err == nil && len(text) > maxPassword {
		err = fmt.Errorf("%s is no password: it has more than %d bytes", path, maxPassword)
	}
	return strings.TrimRight(string(text), "\r\n"), err
}

// Hidden returns what reads a line without showing it, if in is a terminal.
func Hidden(in io.Reader) func() (string, error) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (string, error) {
		text, err := term.ReadPassword(int(f.Fd()))
		return string(text), err
	}
}
