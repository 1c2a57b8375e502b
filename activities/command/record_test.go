package command

import (
	"context"
	"errors"
	"testing"
)

// A node that is short of files for a moment does not stop noting the processes of its programs.
func TestAFailedLookIsNotTheLast(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	looks, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		record(ctx, func() error {
			if looks++; looks == 2 {
				stop()
			}
			return errors.New("too many open files")
		})
	}()
	<-done
	if stop(); looks != 2 {
		t.Fatalf("%d looks", looks)
	}
}
