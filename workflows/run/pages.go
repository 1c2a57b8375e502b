package run

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

const (
	// maxFirst bounds the part of a state in the workflow's argument.
	maxFirst = 1280 << 10
	// MaxArguments bounds all arguments of continue-as-new. The difference to the server's 2 MiB
	// is for encoding.
	MaxArguments = 1900 << 10
	// saveAgain is the pause before a failed store is retried.
	saveAgain = 10 * time.Second
)

// paging stores a large state in pages.
type paging struct {
	ctx workflow.Context
	// saveAt is the time of the next attempt to store a state.
	saveAt time.Time
}

// unsaved returns the time of the next attempt; zero if none waits.
func (p *paging) unsaved() time.Time {
	if workflow.Now(p.ctx).Before(p.saveAt) {
		return p.saveAt
	}
	return time.Time{}
}

// Save divides a state that is larger than one payload. first is for the workflow's argument,
// besides others of that many bytes; the rest is in pages. If the state has changed or messages
// have arrived meanwhile, the run stays and calls [Runner.Drop]. saved is false if a page could
// not be written: the run stays, and is not [Runner.Idle] for a while.
func (p *paging) Save(state []byte, others int) (first []byte, pages []string, saved bool) {
	room := max(min(maxFirst, MaxArguments-others), 0)
	if len(state) <= room {
		return state, nil, true
	}
	first, rest := state[:room], state[room:]
	for len(rest) > 0 {
		data := rest[:min(len(rest), contract.MaxPage)]
		rest = rest[len(data):]
		var page string
		if err := p.PutPage(data).Get(p.ctx, &page); err != nil {
			workflow.GetLogger(p.ctx).Warn("A part of the run's state was not stored. The run goes on and tries again.", "error", err)
			p.saveAt = workflow.Now(p.ctx).Add(saveAgain)
			p.Drop(pages)
			return nil, nil, false
		}
		pages = append(pages, page)
	}
	return first, pages, true
}

// PutPage stores a page of the run. The future returns its name.
func (p *paging) PutPage(data []byte) workflow.Future {
	return callPutPage(p.ctx, p.pageInput(""), data)
}

func (p *paging) pageInput(page string) contract.PageInput {
	return contract.PageInput{Run: workflow.GetInfo(p.ctx).WorkflowExecution.ID, Page: page}
}

// Drop closes unused pages without waiting. The keeper of the control plane closes any that
// remain.
func (p *paging) Drop(pages []string) {
	if len(pages) > 0 {
		callClosePages(p.ctx, contract.ClosePagesInput{Run: p.pageInput("").Run, Pages: pages})
	}
}

// Load joins a state that the previous run has divided.
func (p *paging) Load(first []byte, pages []string) ([]byte, error) {
	if len(pages) == 0 {
		return first, nil
	}
	state := append([]byte(nil), first...)
	for _, page := range pages {
		var data []byte
		if err := callReadPage(p.ctx, p.pageInput(page)).Get(p.ctx, &data); err != nil {
			return nil, fmt.Errorf("read the state of the run before: %w", err)
		}
		state = append(state, data...)
	}
	p.Drop(pages)
	return state, nil
}
