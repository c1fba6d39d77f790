// Package sealed encrypts what is stored where others may read it, with a key that is in a file. A Key may
// be used from any goroutine.
package sealed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"

	"github.com/segd/segd/internal/files"
)

const (
	keySize   = 32
	nonceSize = 24
	accepted  = "accepted: a file with 64 hexadecimal digits, as openssl rand -hex 32 writes"
)

// ErrKey is wrapped by Open's error about a box that another key has sealed, or that is damaged: which of
// the two cannot be told apart.
var ErrKey = errors.New("sealed with another key, or damaged")

// Key seals and opens.
type Key struct{ key [keySize]byte }

// ReadKey reads the key in the file at path. The error wraps fs.ErrNotExist if there is none.
func ReadKey(path string) (*Key, error) {
	text, err := files.Read(context.Background(), path, files.Key)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	k, err := ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return k, nil
}

// ParseKey reads the text of a key file.
func ParseKey(text []byte) (*Key, error) {
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize { // the error would show some of it
		return nil, fmt.Errorf("not a key; %s", accepted)
	}
	return &Key{[keySize]byte(key)}, nil
}

// MakeKey writes a new key to the file at path, for its owner only. A file that is there is an error and
// stays as it is.
func MakeKey(path string) (*Key, error) {
	k := new(Key)
	if _, err := rand.Read(k.key[:]); err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if err := k.Write(path); err != nil {
		return nil, err
	}
	return k, nil
}

// Write writes the key to the file at path, as MakeKey does.
func (k *Key) Write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	// Whole or not at all, whatever happens meanwhile.
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // of mode 0600
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = fmt.Fprintln(f, hex.EncodeToString(k.key[:]))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	return nil
}

// Seal returns plain encrypted, with what tells whether it was changed.
func (k *Key) Seal(plain []byte) []byte {
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // it ends the program rather than fail
	return secretbox.Seal(nonce[:], plain, &nonce, &k.key)
}

// Open returns what Seal was given; the error wraps ErrKey.
func (k *Key) Open(box []byte) ([]byte, error) {
	if len(box) < nonceSize {
		return nil, ErrKey
	}
	plain, ok := secretbox.Open(nil, box[nonceSize:], (*[nonceSize]byte)(box), &k.key)
	if !ok {
		return nil, ErrKey
	}
	return plain, nil
}
