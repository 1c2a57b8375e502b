package gateway

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// MinSecret is the minimum length of a secret in bytes.
const MinSecret = 32

const (
	sealedWorker = "roundsman gateway worker"
	sealedLease  = "roundsman gateway lease"
	sealedCursor = "roundsman gateway cursor"
)

var errSeal = errors.New("not sealed by a gateway of this namespace")

type sealer struct{ by map[string]cipher.AEAD }

func newSealer(secret []byte) (*sealer, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the gateways' secret has %d bytes, it needs at least %d", len(secret), MinSecret)
	}
	s := &sealer{by: map[string]cipher.AEAD{}}
	for _, purpose := range []string{sealedWorker, sealedLease, sealedCursor} {
		key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		if s.by[purpose], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
	}
	return s, nil
}

func (s *sealer) seal(purpose string, v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.by[purpose].Seal(nil, nil, plain, nil)), nil
}

// open accepts one spelling only: the spare bits of the last letter must be zero.
func (s *sealer) open(purpose, text string, v any) error {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return errSeal
	}
	plain, err := s.by[purpose].Open(nil, nil, sealed, nil)
	if err != nil {
		return errSeal
	}
	return json.Unmarshal(plain, v)
}

func randomInstance() string { return rand.Text()[:16] }
