package explainer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/refs"
)

// Explanation is the reason why something is not running, or its waits.
type Explanation struct {
	// Kind is job type, run, job, worker, dag run, dag task or receiver.
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	State string `json:"state"`
	// By urgency. Empty for a thing that runs or has ended, and for a worker with work and free slots.
	Reasons []explain.Reason `json:"reasons"`
	// Chain leads from the first holder to the root, which has the actions.
	Chain []Link `json:"chain,omitempty"`
	// Text of an explanation without reasons.
	Nothing string `json:"nothing,omitempty"`
	// Ended is its end; for a job type, the end of its last run.
	Ended    *Ended    `json:"ended,omitempty"`
	Receiver *Receiver `json:"receiver,omitempty"`
	// Comparison with the usual duration; for a job type, of its newest run.
	Pace *contract.Pace `json:"pace,omitempty"`
	// Group that is explained or has the job (Item); for a job type, its newest open run.
	Run  *starter.Snapshot `json:"-"`
	Item string            `json:"-"`
}

// Kinds of things that can be explained.
const (
	KindJobType  = "job type"
	KindWorker   = "worker"
	KindReceiver = "receiver"

	kindRun     = "run"
	kindJob     = "job"
	kindDAGRun  = "dag run"
	kindDAGTask = "dag task"
)

// Explain explains a job type, a worker, a run, a job (RUN/JOB), a run of a DAG, its task (RUN/TASK) or a receiver.
// An ambiguous name is resolved in this order. A control plane that is down is a reason, not an error.
func Explain(ctx context.Context, client *starter.Client, thing string) (Explanation, error) {
	e := &explainer{client: client, seen: map[string]bool{}}
	explanation, err := e.explain(ctx, nameOf(thing))
	if err == nil {
		explanation.Chain = chainOf(explanation, func(holder string) (Explanation, error) {
			return (&explainer{client: client, seen: map[string]bool{}}).explain(ctx, holder)
		})
	}
	return explanation, err
}

// nameOf drops slashes around a name. A dedupe key may begin and end with them.
func nameOf(thing string) string {
	if parsed, err := ref.Parse(thing); err == nil && parsed.HasKey {
		return parsed.Text
	}
	return strings.Trim(thing, "/ ")
}

type explainer struct {
	client    *starter.Client
	seen      map[string]bool
	ended     *Ended
	pace      *contract.Pace
	open      *starter.Snapshot
	receiver  *Receiver
	receivers []string
}

// maxInner bounds the runs of sub-DAGs in one explanation.
const maxInner = 20

func (e *explainer) explain(ctx context.Context, thing string) (Explanation, error) {
	explanation := Explanation{Name: thing}
	facts, err := e.factsOf(ctx, &explanation)
	if err != nil {
		return explanation, err
	}
	noteDown(&facts, starter.RecallOf(ctx))
	explanation.State = explain.State(facts)
	explanation.Reasons = explain.Why(facts)
	explanation.Ended, explanation.Pace, explanation.Receiver, explanation.Run = e.ended, e.pace, e.receiver, e.open
	if len(explanation.Reasons) == 0 {
		explanation.Reasons, explanation.Nothing = []explain.Reason{}, explain.Nothing(facts)
	}
	return explanation, nil
}

// A name without a slash is a job type, a worker, a run or a DAG.
func (e *explainer) factsOf(ctx context.Context, found *Explanation) (explain.Facts, error) {
	facts, name := explain.Facts{Now: time.Now()}, found.Name
	if name == "" {
		return facts, starter.Invalidf("name a thing to explain: a job type, a run, a job, a worker, a run of a DAG, a task of it or a receiver")
	}
	parsed, err := ref.Parse(name)
	switch {
	case err != nil:
		return facts, e.unknown(ctx, name, &facts)
	case parsed.HasKey:
		return facts, e.job(ctx, found, &facts)
	case parsed.AtRun && parsed.Item == "" || parsed.Group() && parsed.Item == "":
		return facts, e.wholeRun(ctx, found, &facts)
	case parsed.Item != "" && (parsed.AtRun || ref.IsJob(parsed.Item)):
		return facts, e.item(ctx, found, &facts)
	case strings.Contains(name, "/"):
		if known, err := e.audited(ctx, found, &facts); known || err != nil {
			return facts, err
		}
		if parsed.Kind != "" && parsed.Kind != ref.DAG {
			return facts, &starter.NotFoundError{What: "a thing named", Name: name, Hint: "see `roundsman status`"}
		}
		return facts, e.dag(ctx, found, &facts)
	}
	return facts, e.named(ctx, found, &facts)
}

func (e *explainer) wholeRun(ctx context.Context, found *Explanation, facts *explain.Facts) error {
	run, err := refs.Of(e.client).Run(ctx, found.Name)
	if err != nil {
		return err
	}
	if run.Kind() == starter.KindDAG {
		found.Name = run.WorkflowID
		return e.dag(ctx, found, facts)
	}
	return e.run(ctx, found, run, facts)
}

func (e *explainer) item(ctx context.Context, found *Explanation, facts *explain.Facts) error {
	item, err := refs.Of(e.client).Item(ctx, found.Name)
	if err != nil {
		return err
	}
	found.Name = item.String()
	if item.Run.Kind() == starter.KindDAG {
		return e.dag(ctx, found, facts)
	}
	return e.job(ctx, found, facts)
}

// audited explains worker/ID and jobtype/NAME, as written in the audit log.
func (e *explainer) audited(ctx context.Context, found *Explanation, facts *explain.Facts) (known bool, err error) {
	kind, name, _ := strings.Cut(found.Name, "/")
	switch named := jobtype.ValidateName(name) == nil; {
	case named && kind == "worker":
		known, err = e.worker(ctx, name, facts)
		kind = KindWorker
	case named && kind == "jobtype":
		known, err = e.jobType(ctx, name, facts)
		kind = KindJobType
	case named && kind == KindReceiver:
		known, err = e.ofReceiver(ctx, name, facts)
	}
	if known {
		found.Name, found.Kind = name, kind
	}
	return known, err
}

func (e *explainer) named(ctx context.Context, found *Explanation, facts *explain.Facts) error {
	name := found.Name
	known, err := e.jobType(ctx, name, facts)
	if err != nil || known {
		found.Kind = KindJobType
		return err
	}
	if known, err = e.worker(ctx, name, facts); err != nil || known {
		found.Kind = KindWorker
		return err
	}
	ref := starter.RunRef{WorkflowID: groupPrefix + name}
	if described, err := e.client.Runs().Describe(ctx, ref); err == nil && described.Started.Unix() > 0 {
		return e.run(ctx, found, ref, facts)
	}
	if jobtype.ValidateName(name) == nil {
		runs, err := e.client.Runs().List(ctx, starter.RunFilter{DAG: name, Limit: 1})
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			found.Name = runs[0].WorkflowID
			return e.dag(ctx, found, facts)
		}
		if known, err := e.ofReceiver(ctx, name, facts); err != nil || known {
			found.Kind = KindReceiver
			return err
		}
	}
	return e.unknown(ctx, name, facts)
}

func (e *explainer) unknown(ctx context.Context, name string, facts *explain.Facts) error {
	missing := &UnknownThingError{Name: name, Down: facts.Down, Known: e.receivers}
	if types, err := jobtypes.Of(e.client).List(ctx); err == nil {
		for _, t := range types {
			missing.Known = append(missing.Known, t.Name)
		}
	}
	if facts.Down != "" {
		return missing // It has been waited for once.
	}
	if workers, err := e.client.Workers().List(ctx, contract.WorkersQueryInput{}); err == nil {
		for _, w := range workers {
			missing.Known = append(missing.Known, w.Registration.ID)
		}
	}
	return missing
}

// UnknownThingError reports that no thing has this name.
type UnknownThingError struct {
	Name string
	// Names of job types, workers and receivers.
	Known []string
	// Request that the control plane did not answer; the name may be a worker's.
	Down string
}

// Error implements error.
func (e *UnknownThingError) Error() string {
	text := fmt.Sprintf("%s is no job type, worker, run, job, DAG or receiver: see `roundsman jobtypes`, `workers`, `runs`, `jobs RUN` and `receivers`", e.Name)
	if e.Down != "" {
		text += "; workers could not be listed: " + e.Down
	}
	return text
}

// Is makes errors.Is(err, starter.ErrNotFound) true.
func (*UnknownThingError) Is(target error) bool { return target == starter.ErrNotFound }

func noteDown(facts *explain.Facts, err error) bool {
	if down, ok := errors.AsType[*starter.ControlPlaneDownError](err); ok {
		facts.Down, facts.Control = down.What(), explain.ControlFacts{LastPoll: down.LastPoll, Slow: down.Polls()}
		return true
	}
	if gone, ok := errors.AsType[*starter.RegistryGoneError](err); ok {
		facts.Down = gone.What()
		return true
	}
	if paused, ok := errors.AsType[*starter.PausedWorkflowError](err); ok {
		facts.Frozen = append(facts.Frozen, explain.FrozenFacts{ID: paused.WorkflowID, By: paused.By, Note: paused.Note, Since: paused.Since})
		return true
	}
	if stuck, ok := errors.AsType[*starter.StuckWorkflowError](err); ok {
		facts.Stuck = append(facts.Stuck, explain.StuckFacts{ID: stuck.WorkflowID, Message: stuck.Message, Unread: stuck.Unread, Times: stuck.Times, Since: stuck.Since, Version: stuck.Version})
		return true
	}
	return false
}

const groupPrefix = "group/"
