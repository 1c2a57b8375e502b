package etag

import (
	"context"
	"sync"
)

// Turns lets one request after another use a path.
type Turns struct {
	mu   sync.Mutex
	used map[string]*turn
}

type turn struct {
	free  chan struct{}
	users int
}

// Take waits for the requests before.
func (t *Turns) Take(ctx context.Context, path string) (leave func(), err error) {
	own := t.join(path)
	select {
	case own.free <- struct{}{}:
		return func() { <-own.free; t.left(path, own) }, nil
	case <-ctx.Done():
		t.left(path, own)
		return nil, ctx.Err()
	}
}

func (t *Turns) join(path string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = map[string]*turn{}
	}
	if t.used[path] == nil {
		t.used[path] = &turn{free: make(chan struct{}, 1)}
	}
	t.used[path].users++
	return t.used[path]
}

func (t *Turns) left(path string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.used, path)
	}
}
