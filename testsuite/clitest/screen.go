package clitest

import (
	"bytes"
	"sync"
)

// Screen is standard output that a test can wait for.
type Screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
