package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// maxCommonBytes bounds the stored parts. The least recently used one is dropped first.
const maxCommonBytes = 8 << 20

// Commons stores the common parts of jobs by content, so the next run of a job type finds them. It is safe for concurrent use.
type Commons struct {
	runs Runs

	mu    sync.Mutex
	kept  []keptCommon
	bytes int
}

// commonGrace is the wait for a job that was sent in the same moment with the common part, before the run is queried.
const commonGrace = 25 * time.Millisecond

type keptCommon struct {
	id string
	contract.RunCommon
}

// NewCommons returns an empty store. It queries runs for missing parts; with nil it never does.
func NewCommons(runs Runs) *Commons { return &Commons{runs: runs} }

// Take stores or adds the common part of the job. It returns false if a part is missing: [Commons.Fetch] gets it.
func (c *Commons) Take(in contract.ExecuteInput) (contract.ExecuteInput, bool) {
	in, complete := c.common(in)
	return in, complete && in.Ref == nil
}

func (c *Commons) common(in contract.ExecuteInput) (contract.ExecuteInput, bool) {
	if in.Common == "" {
		return in, true
	}
	if brought := (contract.RunCommon{Params: in.Job.Params, Settings: in.Job.Settings, Cluster: in.Job.Cluster}); brought.Bytes() > 0 {
		c.keep(in.Common, brought)
		return in, true
	}
	common, known := c.find(in.Common)
	return with(in, common), known
}

// Fetch gets the missing parts, repeatedly until ctx ends. alive is called before each attempt.
func (c *Commons) Fetch(ctx context.Context, workflowID string, in contract.ExecuteInput, alive func()) (contract.ExecuteInput, error) {
	in, complete := c.common(in)
	if !complete {
		var err error
		if in, err = c.fetch(ctx, workflowID, in, alive); err != nil {
			return in, err
		}
	}
	if in.Ref == nil {
		return in, nil
	}
	return c.propose(ctx, workflowID, in, alive)
}

func (c *Commons) propose(ctx context.Context, workflowID string, in contract.ExecuteInput, alive func()) (contract.ExecuteInput, error) {
	if c.runs == nil {
		return in, errors.New("the job's proposal is in a page, which cannot be read")
	}
	for wait := commonGrace; ; {
		alive()
		p, err := c.runs.Proposal(ctx, workflowID, *in.Ref)
		if err == nil {
			return in.Proposed(p), nil
		}
		if rejected := (*RejectedError)(nil); errors.As(err, &rejected) || !pause(ctx, &wait) {
			return in, fmt.Errorf("the job's proposal cannot be read: %w", err)
		}
	}
}

func (c *Commons) fetch(ctx context.Context, workflowID string, in contract.ExecuteInput, alive func()) (contract.ExecuteInput, error) {
	if c.runs == nil {
		return in, errors.New("the job lacks the common settings of its run, and they cannot be queried")
	}
	var err error
	for wait := commonGrace; pause(ctx, &wait); {
		alive()
		common, known := c.find(in.Common)
		if !known {
			common, err = c.ask(ctx, workflowID, in.Common)
		}
		var rejected *RejectedError
		switch {
		case known || err == nil:
			return with(in, common), nil
		case errors.As(err, &rejected), errors.Is(err, jobtype.ErrLeaseLost):
			return in, fmt.Errorf("query the common settings of the run's jobs: %w", err)
		}
	}
	return in, fmt.Errorf("the run does not return the common settings of its jobs: %w", errors.Join(context.Cause(ctx), err))
}

func (c *Commons) ask(ctx context.Context, workflowID, id string) (contract.RunCommon, error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	common, err := c.runs.Common(ctx, workflowID, id)
	if err == nil {
		c.keep(id, common)
	}
	return common, err
}

func with(in contract.ExecuteInput, common contract.RunCommon) contract.ExecuteInput {
	in.Job.Params, in.Job.Settings, in.Job.Cluster = common.Params, common.Settings, common.Cluster
	return in
}

func (c *Commons) find(id string) (contract.RunCommon, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.use(id)
}

// use marks a part as the newest; mu must be held.
func (c *Commons) use(id string) (contract.RunCommon, bool) {
	at := slices.IndexFunc(c.kept, func(k keptCommon) bool { return k.id == id })
	if at < 0 {
		return contract.RunCommon{}, false
	}
	found := c.kept[at]
	c.kept = append(slices.Delete(c.kept, at, at+1), found)
	return found.RunCommon, true
}

func (c *Commons) keep(id string, common contract.RunCommon) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.use(id); known {
		return
	}
	c.kept, c.bytes = append(c.kept, keptCommon{id, common}), c.bytes+common.Bytes()
	for c.bytes > maxCommonBytes && len(c.kept) > 1 {
		c.bytes -= c.kept[0].Bytes()
		c.kept = slices.Delete(c.kept, 0, 1)
	}
}
