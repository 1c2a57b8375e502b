package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Prefix begins every API key.
const Prefix = "rmk_"

// Most bounds the keys of a namespace, so that they fit into one argument.
const Most = 500

const (
	randomBytes = 32
	idLength    = 10
)

// Key is an API key without its secret.
type Key struct {
	ID string `json:"id"`
	// Name is the owner or purpose.
	Name string `json:"name"`
	// Role of package access, limited by globs of job types, DAGs and handlers.
	Role     string   `json:"role"`
	JobTypes []string `json:"job_types,omitempty"`
	DAGs     []string `json:"dags,omitempty"`
	Handlers []string `json:"handlers,omitempty"`
	// Worker is the only worker id that the key may use; empty if the key is not for a worker.
	Worker    string    `json:"worker,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	RevokedBy string    `json:"revoked_by,omitempty"`
	// LastUsed has a precision of one hour.
	LastUsed time.Time `json:"last_used,omitzero"`
}

type stored struct {
	Key
	// Sum is the SHA-256 of the whole key, in hexadecimal.
	Sum string `json:"sum"`
}

// ErrUnknown is returned for a wrong, revoked or expired key.
var ErrUnknown = errors.New("the key is unknown, revoked or expired")

// Validate checks the fields set by the creator of a key.
func (k Key) Validate() error {
	var faults []error
	if k.Name == "" || len(k.Name) > 100 || strings.ContainsFunc(k.Name, func(r rune) bool { return r < ' ' }) {
		faults = append(faults, fmt.Errorf("name %q: give 1 to 100 characters about its use", k.Name))
	}
	if k.Role == "" {
		faults = append(faults, errors.New("role is missing: give viewer, operator, admin, worker or a configured role"))
	}
	for _, glob := range slices.Concat(k.JobTypes, k.DAGs, k.Handlers) {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			faults = append(faults, fmt.Errorf("%q is no pattern: write a name, with * for any characters", glob))
		}
	}
	return errors.Join(faults...)
}

func (k Key) valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// newSecret returns the id and the text of a new key, rmk_<id>_<random>.
func newSecret() (id, secret string) {
	random := make([]byte, randomBytes)
	_, _ = rand.Read(random) // It never fails.
	id = strings.ToLower(rand.Text()[:idLength])
	return id, Prefix + id + "_" + base64.RawURLEncoding.EncodeToString(random)
}

func sumOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func idOf(secret string) string {
	rest, is := strings.CutPrefix(secret, Prefix)
	id, _, whole := strings.Cut(rest, "_")
	if !is || !whole || len(id) != idLength {
		return ""
	}
	return id
}

// NameOf returns the public part of a secret, rmk_<id>, which names the sessions of that key.
func NameOf(secret string) string { return Prefix + idOf(secret) }

func match(all []stored, secret string, now time.Time) (Key, error) {
	id, sum := idOf(secret), sumOf(secret)
	for _, each := range all {
		if each.ID == id && subtle.ConstantTimeCompare([]byte(each.Sum), []byte(sum)) == 1 && each.valid(now) {
			return each.Key, nil
		}
	}
	return Key{}, ErrUnknown
}
