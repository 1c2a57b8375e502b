// Package cursor signs positions in lists, so that clients cannot build them or depend on their form.
package cursor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

const sum = 12

// Signer makes and reads cursors.
type Signer struct{ Secret []byte }

// At returns the cursor of a position.
func (s Signer) At(list, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(s.sign(list, position), position...))
}

func (s Signer) sign(list, position string) []byte {
	mac := hmac.New(sha256.New, s.Secret)
	mac.Write([]byte(list + "\x00" + position))
	return mac.Sum(nil)[:sum]
}

// Position returns the position of a cursor; empty for none.
func (s Signer) Position(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < sum || !hmac.Equal(raw[:sum], s.sign(list, string(raw[sum:]))) {
		return "", problem.New(http.StatusBadRequest, problem.CodeBadCursor, "the cursor is none of this list").With("begin again without a cursor")
	}
	return string(raw[sum:]), nil
}

// Resume reads the place of a cursor. Without a cursor it leaves to as it is.
func (s Signer) Resume(list, cursor string, to any) error {
	written, err := s.Position(list, cursor)
	if err != nil || written == "" {
		return err
	}
	if err := json.Unmarshal([]byte(written), to); err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadCursor, err.Error()).With("begin again without a cursor")
	}
	return nil
}

// Next is the inverse of [Signer.Resume].
func (s Signer) Next(list string, place any) (string, error) {
	written, err := json.Marshal(place)
	return s.At(list, string(written)), err
}
