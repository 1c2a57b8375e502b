package run

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

const (
	// maxChunk bounds the part of a state that one payload carries: the server
	// refuses those over 2 MiB, and one part travels as a JSON string.
	maxChunk = 1280 << 10
	// MaxArguments bounds all that a run is given when it continues as new, below the
	// server's 2 MiB by what encoding adds.
	MaxArguments = 1900 << 10
	// pageAge is how long a page is kept for a run that does not read it, such as one
	// that was terminated.
	pageAge = 30 * 24 * time.Hour
	// pageWait is how long the run waits for a page before it requests it again.
	pageWait = time.Minute
)

// StatePage keeps one part of the state of a run that continues as new, because the
// state is larger than one payload. It delivers the part to the run that asks for
// it, and ends. A cancellation is ignored: the run would be lost.
func StatePage(ctx workflow.Context, chunk []byte) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	read, drop := workflow.GetSignalChannel(ctx, contract.SignalReadState), workflow.GetSignalChannel(ctx, contract.SignalDropState)
	for {
		signaled, err := workflow.AwaitWithTimeout(ctx, pageAge, func() bool { return read.Len()+drop.Len() > 0 })
		if err != nil || !signaled || drop.Len() > 0 {
			return err
		}
		var in contract.ReadStateInput
		read.Receive(ctx, &in)
		part := contract.StatePart{Number: in.Number, Data: chunk}
		err = workflow.SignalExternalWorkflow(ctx, in.WorkflowID, "", contract.SignalStatePart, part).Get(ctx, nil)
		var unknown *temporal.UnknownExternalWorkflowExecutionError
		if err == nil || errors.As(err, &unknown) {
			return nil
		}
		// The run requests it again.
		workflow.GetLogger(ctx).Warn("A part of a state was not delivered.", "to", in.WorkflowID, "error", err)
	}
}

// Save divides a state that is larger than one payload: first travels as the
// workflow's argument, besides others of so many bytes, each further part in a
// workflow of its own. Afterwards the state may have changed, or messages may have
// come: then the run stays, and calls [Runner.Drop].
func (r *Runner) Save(state []byte, others int) (first []byte, pages []contract.StatePage, err error) {
	room := max(min(maxChunk, MaxArguments-others), 0)
	if len(state) <= room {
		return state, nil, nil
	}
	r.saves++
	id := workflow.GetInfo(r.ctx).WorkflowExecution
	first, rest := state[:room], state[room:]
	// One after the other: a workflow task must not order more than 4 MiB.
	for len(rest) > 0 {
		chunk := rest[:min(len(rest), maxChunk)]
		rest = rest[len(chunk):]
		name := fmt.Sprintf("%s/state/%s/%d.%d", id.ID, id.RunID, r.saves, len(pages)+1)
		var page workflow.Execution
		if err := callStatePage(r.ctx, name, chunk).GetChildWorkflowExecution().Get(r.ctx, &page); err != nil {
			r.Drop(pages)
			return nil, nil, fmt.Errorf("keep the state of the run: %w", err)
		}
		pages = append(pages, contract.StatePage{WorkflowID: page.ID, RunID: page.RunID})
	}
	return first, pages, nil
}

// Drop ends pages that are not needed.
func (r *Runner) Drop(pages []contract.StatePage) {
	for _, page := range pages {
		workflow.SignalExternalWorkflow(r.ctx, page.WorkflowID, page.RunID, contract.SignalDropState, nil)
	}
}

// Load puts a state together that the run before has divided.
func (r *Runner) Load(first []byte, pages []contract.StatePage) ([]byte, error) {
	if len(pages) == 0 {
		return first, nil
	}
	state := append([]byte(nil), first...)
	parts := workflow.GetSignalChannel(r.ctx, contract.SignalStatePart)
	for i, page := range pages {
		chunk, err := r.read(parts, page, i+1)
		if err != nil {
			return nil, fmt.Errorf("read the state of the run before: %w", err)
		}
		state = append(state, chunk...)
	}
	return state, nil
}

func (r *Runner) read(parts workflow.ReceiveChannel, page contract.StatePage, number int) ([]byte, error) {
	in := contract.ReadStateInput{WorkflowID: workflow.GetInfo(r.ctx).WorkflowExecution.ID, Number: number}
	for {
		err := workflow.SignalExternalWorkflow(r.ctx, page.WorkflowID, page.RunID, contract.SignalReadState, in).Get(r.ctx, nil)
		gone := err != nil // Unless it has delivered the part already.
		if _, err := workflow.AwaitWithTimeout(r.ctx, pageWait, func() bool { return parts.Len() > 0 }); err != nil {
			return nil, err
		}
		for parts.Len() > 0 {
			var part contract.StatePart
			if parts.Receive(r.ctx, &part); part.Number == number {
				return part.Data, nil
			}
		}
		if gone {
			return nil, fmt.Errorf("page %s: %w", page.WorkflowID, err)
		}
	}
}
