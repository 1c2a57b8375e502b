package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/singleflight"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// decodedPages is the number of pages that a process keeps decoded, about 40 MiB.
	decodedPages = 32
	maxDecoded   = 4 << 20
)

// PackProposals encodes the proposals of a page.
func PackProposals(list []jobtype.Proposal) ([]byte, error) {
	plain, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode a page of proposals: %w", err)
	}
	return pack.Bytes(plain), nil
}

// OpenProposals is the inverse of [PackProposals]. A page that cannot be decoded is lost.
func OpenProposals(data []byte) ([]jobtype.Proposal, error) {
	plain, err := pack.Open(data, maxDecoded)
	if err != nil {
		return nil, fmt.Errorf("read a page of proposals: %w: %w", ErrLost, err)
	}
	var list []jobtype.Proposal
	if err := json.Unmarshal(plain, &list); err != nil {
		return nil, fmt.Errorf("read a page of proposals: %w: %w", ErrLost, err)
	}
	return list, nil
}

// Proposals reads proposals from pages, and keeps the last pages. It is safe for concurrent use.
type Proposals struct {
	store *Store
	reads singleflight.Group

	mu    sync.Mutex
	known map[string][]jobtype.Proposal
	order []string
}

// NewProposals returns a reader of the proposals in a store.
func NewProposals(store *Store) *Proposals {
	return &Proposals{store: store, known: map[string][]jobtype.Proposal{}}
}

// Get reads one proposal of a run.
func (p *Proposals) Get(ctx context.Context, run string, ref contract.ProposalRef) (jobtype.Proposal, error) {
	list, err := p.List(ctx, run, ref.Page)
	if err != nil {
		return jobtype.Proposal{}, err
	}
	if ref.Position < 0 || ref.Position >= len(list) {
		return jobtype.Proposal{}, fmt.Errorf("page %s of %s has no proposal %d: %w", ref.Page, run, ref.Position, ErrLost)
	}
	return list[ref.Position], nil
}

// List reads the proposals of a page. They must not be changed.
func (p *Proposals) List(ctx context.Context, run, page string) ([]jobtype.Proposal, error) {
	name := run + "/" + page
	if list, known := p.find(name); known {
		return list, nil
	}
	// The first caller's context counts for all: a canceled one makes the others read again.
	mine := false
	read, err, _ := p.reads.Do(name, func() (any, error) {
		mine = true
		data, err := p.store.Get(ctx, run, page)
		if err != nil {
			return nil, err
		}
		list, err := OpenProposals(data)
		if err == nil {
			p.keep(name, list)
		}
		return list, err
	})
	if err != nil {
		if !mine && ctx.Err() == nil && ended(err) {
			return p.List(ctx, run, page)
		}
		return nil, err
	}
	list, _ := read.([]jobtype.Proposal)
	return list, nil
}

func ended(err error) bool {
	_, canceled := errors.AsType[*serviceerror.Canceled](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return canceled || late || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (p *Proposals) find(name string) ([]jobtype.Proposal, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, known := p.known[name]
	if at := slices.Index(p.order, name); at >= 0 {
		p.order = append(slices.Delete(p.order, at, at+1), name)
	}
	return list, known
}

func (p *Proposals) keep(name string, list []jobtype.Proposal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[name]; known {
		return // Another reader was faster.
	}
	p.known[name], p.order = list, append(p.order, name)
	if len(p.order) > decodedPages {
		delete(p.known, p.order[0])
		p.order = slices.Delete(p.order, 0, 1)
	}
}
