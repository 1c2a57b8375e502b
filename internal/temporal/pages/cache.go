package pages

import (
	"context"
	"sync"
)

// cachedPages is the number of pages in a cache, at most 30 MiB.
const cachedPages = 64

// Cache reads pages and keeps the last ones. A page never changes.
type Cache struct {
	store *Store

	mu    sync.Mutex
	pages map[string][]byte
	order []string
}

// NewCache returns an empty cache.
func NewCache(store *Store) *Cache { return &Cache{store: store, pages: map[string][]byte{}} }

// Get is [Store.Get]. The bytes must not be changed.
func (c *Cache) Get(ctx context.Context, run, page string) ([]byte, error) {
	name := run + "/" + page
	c.mu.Lock()
	data, known := c.pages[name]
	c.mu.Unlock()
	if known {
		return data, nil
	}
	data, err := c.store.Get(ctx, run, page)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.pages[name]; !known {
		c.pages[name], c.order = data, append(c.order, name)
	}
	if len(c.order) > cachedPages {
		delete(c.pages, c.order[0])
		c.order = c.order[1:]
	}
	return data, nil
}
