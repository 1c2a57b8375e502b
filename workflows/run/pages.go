package run

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

const (
	// maxInline bounds the state in the workflow's argument, which is in two histories. A page is in one, and costs
	// 1.6 KB more.
	maxInline = 16 << 10
	// MaxArguments leaves a margin to the server's 2 MiB for encoding.
	MaxArguments = 1900 << 10
	// saveAgain is the pause before a failed store is retried.
	saveAgain = 10 * time.Second
)

type paging struct {
	ctx workflow.Context
	// pages had the state from which the workflow run began.
	pages []string
	// saveAt is the time of the next attempt to store a state.
	saveAt time.Time
}

func (p *paging) unsaved() time.Time {
	if workflow.Now(p.ctx).Before(p.saveAt) {
		return p.saveAt
	}
	return time.Time{}
}

// Save stores a state that is too large for the workflow's argument in pages. If the state has changed meanwhile, the
// run stays and calls [Runner.Drop]. If a page could not be written, saved is false and the run is not [Runner.Idle]
// for a while.
func (p *paging) Save(state []byte, others int) (argument []byte, stored contract.StatePages, saved bool) {
	stored.Former = p.pages
	if len(state) <= min(maxInline, MaxArguments-others) {
		return state, stored, true
	}
	for data := range slices.Chunk(state, contract.MaxPage) {
		in := p.pageInput("")
		in.State = true
		var page string
		if err := callPutPage(p.ctx, in, data).Get(p.ctx, &page); err != nil {
			workflow.GetLogger(p.ctx).Warn("A part of the run's state was not stored. The run goes on and tries again.", "error", err)
			p.saveAt = workflow.Now(p.ctx).Add(saveAgain)
			p.Drop(stored.Pages)
			return nil, contract.StatePages{}, false
		}
		stored.Pages = append(stored.Pages, page)
	}
	return nil, stored, true
}

// PutPage stores a page of the run. The future returns its name.
func (p *paging) PutPage(data []byte) workflow.Future {
	return callPutPage(p.ctx, p.pageInput(""), data)
}

func (p *paging) pageInput(page string) contract.PageInput {
	return contract.PageInput{Run: workflow.GetInfo(p.ctx).WorkflowExecution.ID, Page: page}
}

// Drop closes unused pages without waiting. The keeper of the control plane closes any that remain.
func (p *paging) Drop(pages []string) {
	unused := slices.DeleteFunc(slices.Clone(pages), func(page string) bool { return slices.Contains(p.pages, page) })
	if len(unused) > 0 {
		callClosePages(p.ctx, contract.ClosePagesInput{Run: p.pageInput("").Run, Pages: unused})
	}
}

// Load returns the state that the previous run has saved. It waits until its pages can be read.
func (p *paging) Load(argument []byte, stored contract.StatePages) ([]byte, error) {
	if len(argument) == 0 {
		p.pages = stored.Pages
	} else { // An earlier version had one part in the argument, and closed the pages at once.
		stored.Former = stored.Pages
	}
	state := argument
	for _, page := range stored.Pages {
		var data []byte
		if err := callReadPage(p.ctx, p.pageInput(page)).Get(p.ctx, &data); err != nil {
			return nil, fmt.Errorf("read the state of the run before: %w", err)
		}
		state = append(state, data...)
	}
	p.Drop(stored.Former)
	return state, nil
}
