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

// maxCommonBytes bounds what a process keeps: the params, settings and cluster blocks of
// the job types that it works for. The least recently used one goes first.
const maxCommonBytes = 8 << 20

// Commons keeps what the jobs of runs have in common. It is named by its content, so that
// the next run of a job type finds it here. It is safe for concurrent use.
type Commons struct {
	runs Runs

	mu sync.Mutex
	// kept are in the order of their use, the newest last.
	kept  []keptCommon
	bytes int
}

// commonGrace is how long a job waits for one that brings what it lacks, and was sent in
// the same moment, before the run is asked.
const commonGrace = 25 * time.Millisecond

type keptCommon struct {
	id string
	contract.RunCommon
}

// NewCommons returns an empty store. runs are asked for what it lacks; nil: nobody is.
func NewCommons(runs Runs) *Commons { return &Commons{runs: runs} }

// Take keeps what the job brings, or gives it what was kept. It returns false if the job
// lacks something that is not here.
func (c *Commons) Take(in contract.ExecuteInput) (contract.ExecuteInput, bool) {
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

// Fetch asks the run for what the job lacks, again and again until ctx ends: a control
// plane that is away comes back. alive is called before each attempt.
func (c *Commons) Fetch(ctx context.Context, workflowID string, in contract.ExecuteInput, alive func()) (contract.ExecuteInput, error) {
	if c.runs == nil {
		return in, errors.New("the job lacks what it has in common with others of its run, and nobody can be asked")
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
			return in, fmt.Errorf("the run was asked what its jobs have in common: %w", err)
		}
	}
	return in, fmt.Errorf("the run does not say what its jobs have in common: %w", errors.Join(context.Cause(ctx), err))
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

// use moves what is kept to the end; mu must be held.
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
