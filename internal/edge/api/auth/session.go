package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// CookieName is the name of a session's cookie.
	CookieName = "roundsman_session"
	// SessionLasts is the lifetime of a session.
	SessionLasts = 12 * time.Hour
)

// Person is a person authenticated by the identity provider.
type Person struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Sessions seals people into cookies. It has no state: control planes with the same secret accept each other's.
type Sessions struct {
	seal cipher.AEAD
	now  func() time.Time
}

// NewSessions returns Sessions with a secret of at least 32 bytes.
func NewSessions(secret []byte, now func() time.Time) (*Sessions, error) {
	if len(secret) < 32 {
		return nil, fmt.Errorf("the secret has %d bytes; give at least 32 random ones", len(secret))
	}
	key := sha256.Sum256(append([]byte("roundsman session\x00"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sessions{seal: seal, now: now}, nil
}

// sealed is the content of a cookie. Purpose distinguishes the cookie of a log-in from a session.
type sealed struct {
	Purpose string `json:"p"`
	// ID identifies the session for a log-out; At is its start.
	ID    string          `json:"i"`
	At    time.Time       `json:"a"`
	Until time.Time       `json:"u"`
	Value json.RawMessage `json:"v"`
}

const (
	purposeSession = "session"
	purposeLogIn   = "login"
)

// Close seals a person into a cookie.
func (s *Sessions) Close(person Person) (string, error) {
	return s.close(purposeSession, person, SessionLasts)
}

// Open opens a cookie. It refuses an altered one.
func (s *Sessions) Open(text string) (Person, error) {
	var person Person
	_, err := s.open(purposeSession, text, &person)
	return person, err
}

func (s *Sessions) close(purpose string, value any, lasts time.Duration) (string, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(sealed{purpose, rand.Text(), s.now().UTC(), s.now().Add(lasts), encoded})
	if err != nil {
		return "", err
	}
	nonce := make([]byte, s.seal.NonceSize())
	_, _ = rand.Read(nonce) // It never fails.
	return base64.RawURLEncoding.EncodeToString(s.seal.Seal(nonce, nonce, plain, nil)), nil
}

var errSession = errors.New("the session is over or none of this server's")

func (s *Sessions) open(purpose, text string, into any) (sealed, error) {
	var read sealed
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < s.seal.NonceSize() {
		return read, errSession
	}
	plain, err := s.seal.Open(nil, raw[:s.seal.NonceSize()], raw[s.seal.NonceSize():], nil)
	if err != nil {
		return read, errSession
	}
	if err := json.Unmarshal(plain, &read); err != nil || read.Purpose != purpose || !s.now().Before(read.Until) {
		return read, errSession
	}
	return read, json.Unmarshal(read.Value, into)
}
