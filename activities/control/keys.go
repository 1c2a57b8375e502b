package control

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
)

// keptKeys is the number of pages whose keys are kept, with 16 KB each: those of a million jobs.
const keptKeys = 512

// pageKeys keeps the hashes of the keys of pages, because a group reads parts of its pages again and again.
type pageKeys struct {
	mu    sync.Mutex
	known map[string][]uint64
	order []string
}

// ReadKeys is [contract.ReadKeysActivity]. Each page is read once.
func (c *Control) ReadKeys(ctx context.Context, in contract.ReadKeysInput) ([]byte, error) {
	out := make([]byte, 0, 8*contract.MaxChunk)
	for _, ref := range in.Refs {
		hashes, err := c.keysOf(ctx, in, ref.Page)
		if err != nil {
			return nil, err
		}
		for i := ref.Position; i < ref.Position+ref.Count; i++ {
			hash := uint64(0)
			if i >= 0 && i < len(hashes) {
				hash = hashes[i]
			}
			out = binary.BigEndian.AppendUint64(out, hash)
		}
	}
	return out, nil
}

func (c *Control) keysOf(ctx context.Context, in contract.ReadKeysInput, page string) ([]uint64, error) {
	name := in.JobType + "\x00" + in.Run + "\x00" + page
	if hashes, known := c.keys.find(name); known {
		return hashes, nil
	}
	data, err := c.pages(ctx).Get(ctx, in.Run, page)
	if errors.Is(err, pages.ErrLost) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys of page %s of %s: %w", page, in.Run, err)
	}
	proposals, err := pages.OpenProposals(data)
	if err != nil {
		return nil, nil //nolint:nilerr // It is lost as well.
	}
	hashes := make([]uint64, len(proposals))
	for i := range proposals {
		if key := proposals[i].DedupeKey; key != "" {
			hashes[i] = contract.DedupeHash(in.JobType, key)
		}
	}
	c.keys.keep(name, hashes)
	return hashes, nil
}

func (k *pageKeys) find(name string) ([]uint64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	hashes, known := k.known[name]
	return hashes, known
}

// keep drops the page that was read first.
func (k *pageKeys) keep(name string, hashes []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.known[name]; known {
		return
	}
	if k.known == nil {
		k.known = map[string][]uint64{}
	}
	k.known[name], k.order = hashes, append(k.order, name)
	if len(k.order) > keptKeys {
		delete(k.known, k.order[0])
		k.order = slices.Delete(k.order, 0, 1)
	}
}
