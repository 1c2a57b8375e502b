package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Detection is a detection with its lease.
type Detection struct {
	jobtype.DetectInput
	Handler string `json:"handler"`
	Lease   string `json:"lease"`
	// Cursor for the first page.
	Cursor            string           `json:"cursor"`
	HeartbeatTimeout  jobtype.Duration `json:"heartbeat_timeout,omitempty"`
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval"`
	Deadline          time.Time        `json:"deadline,omitzero"`
}

type cursor struct {
	Worker string                       `json:"w"`
	Token  []byte                       `json:"t"`
	Input  contract.DetectActivityInput `json:"i"`
	Sent   jobs.Sent                    `json:"s"`
}

// PollDetection waits for a detection. It returns nil if there is none in time.
func (w Worker) PollDetection(ctx context.Context, wait time.Duration) (*Detection, error) {
	if err := w.registered(ctx); err != nil {
		return nil, err
	}
	queue := contract.WorkerDetectQueue(w.who.ID, w.who.Instance)
	for waiting := newWait(wait); waiting.more(); {
		task, err := w.poll(ctx, queue, waiting)
		if task == nil || err != nil {
			return nil, err
		}
		var input contract.DetectActivityInput
		var refused error
		switch err := w.g.converter.FromPayloads(task.GetInput(), &input); {
		case err != nil:
			refused = jobs.DetectionFailure(contract.FailurePermanent, "the gateway cannot read the detection: "+err.Error())
		case ctx.Err() != nil:
			refused = jobs.DetectionFailure(contract.FailureDraining, "worker "+w.who.ID+" hung up before it got the detection")
		case w.held(ctx):
			refused = jobs.DetectionFailure(contract.FailureDraining, "worker "+w.who.ID+" is drained or cordoned")
		}
		if refused == nil {
			return w.detection(task.GetTaskToken(), input, task.GetHeartbeatTimeout().AsDuration(), task.GetStartToCloseTimeout().AsDuration())
		}
		w.refuseDetection(ctx, task.GetTaskToken(), refused)
	}
	return nil, nil
}

func (w Worker) detection(token []byte, input contract.DetectActivityInput, heartbeat, limit time.Duration) (*Detection, error) {
	now := time.Now()
	l := leased{Worker: w.who.ID, Instance: w.who.Instance, Token: token, Workflow: input.WorkflowID, Started: now.UnixMilli(), Detection: true, Attempt: input.Attempt}
	if limit > 0 {
		l.Deadline = now.Add(limit).UnixMilli()
	}
	sealed, err := w.g.sealer.seal(sealedLease, l)
	if err != nil {
		return nil, err
	}
	first := cursor{Worker: w.who.ID, Token: token, Input: input}
	first.Input.Input = jobtype.DetectInput{}
	if input.BatchBy != "" {
		first.Input.Input.Params = input.Input.Params
	}
	begin, err := w.g.sealer.seal(sealedCursor, first)
	if err != nil {
		return nil, err
	}
	input.Input.WorkerID, input.Input.Run.ID = w.who.ID, input.WorkflowID
	input.Input.Liveness, input.Input.StallTimeout = input.Liveness, input.StallTimeout
	return &Detection{
		DetectInput: input.Input, Handler: input.Handler, Lease: sealed, Cursor: begin,
		HeartbeatTimeout: jobtype.Duration(heartbeat), HeartbeatInterval: beatEvery(heartbeat), Deadline: l.deadline(),
	}, nil
}

// Page is the answer to a page of proposals.
type Page struct {
	// Cursor for the next page, or for the end of the detection.
	Cursor string `json:"cursor"`
	// Full means that the run accepts no more. Further proposals are only counted.
	Full bool `json:"full"`
	// Counts of all pages so far. Faults are about rejected proposals of this page.
	Emitted    int    `json:"emitted"`
	Duplicates int    `json:"duplicates,omitempty"`
	Surplus    int    `json:"surplus,omitempty"`
	Invalid    int    `json:"invalid,omitempty"`
	Faults     string `json:"faults,omitempty"`
}

// Propose sends a page of proposals. A repetition with the same cursor gets the same answer.
func (l Lease) Propose(ctx context.Context, at string, proposals []jobtype.Proposal) (Page, error) {
	c, err := l.cursor(at)
	if err != nil {
		return Page{}, err
	}
	sent, faults, err := jobs.SendPages(ctx, l.worker.g.server, c.Input, c.Sent, proposals)
	if err != nil {
		return Page{}, answered("the run did not take the page", err)
	}
	c.Sent = sent
	next, err := l.worker.g.sealer.seal(sealedCursor, c)
	if err != nil {
		return Page{}, err
	}
	page := Page{
		Cursor: next, Full: sent.Full, Emitted: sent.Result.Emitted, Duplicates: sent.Result.Duplicates, Surplus: sent.Result.Surplus, Invalid: sent.Result.Invalid,
	}
	if faults != nil {
		page.Faults = faults.Error()
	}
	return page, nil
}

// Detected ends a detection. more means that the detector stopped because the run was full.
func (l Lease) Detected(ctx context.Context, at string, more bool) error {
	c, err := l.cursor(at)
	if err != nil {
		return err
	}
	result := c.Sent.Result
	result.Worker, result.More = l.leased.Worker, more
	return answered("the server did not take the outcome", l.worker.g.server.Complete(ctx, l.leased.Token, result, nil))
}

func (l Lease) cursor(sealed string) (cursor, error) {
	var c cursor
	switch {
	case !l.leased.Detection:
		return c, invalid(errors.New("this is the lease of a job: it has no cursor"))
	case l.worker.g.sealer.open(sealedCursor, sealed, &c) != nil:
		return c, badToken("cursor")
	case c.Worker != l.leased.Worker || string(c.Token) != string(l.leased.Token):
		return c, notYours("cursor")
	}
	return c, nil
}

func (w Worker) refuseDetection(ctx context.Context, token []byte, failure error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseTimeout)
	defer cancel()
	err := w.g.server.Complete(ctx, token, contract.DetectActivityResult{Worker: w.who.ID}, failure)
	if err != nil && !errors.Is(err, jobtype.ErrLeaseLost) {
		w.g.logger.Warn("a detection could not be returned", "worker", w.who.ID, "error", err)
	}
}
