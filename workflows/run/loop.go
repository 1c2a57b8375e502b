package run

import (
	"encoding/json"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// Core is the pure part of a run: a source of items.
type Core interface {
	Decider
	Refuser
	Saver
}

// Decider decides for a [Core].
type Decider interface {
	Next(now time.Time, event source.Event) []source.Command
	NextWake() time.Time
	Engine() *engine.Engine
}

// Refuser refuses requests about items of a [Core].
type Refuser interface {
	// CheckCancel returns the state of an item, and the reason to refuse its cancellation.
	CheckCancel(request source.CancelItem) (state string, refused *contract.ItemRefusal)
}

// Saver has the state of a [Core].
type Saver interface {
	ShouldContinueAsNew() bool
	Snapshot() ([]byte, error)
}

// Kind is the part of a run that depends on its kind.
type Kind interface {
	Doer
	Waiter
	named
}

type named interface {
	Namer
	Describer
}

// Namer names the items of a [Kind].
type Namer interface {
	Name(item int) string
	Item(name string) (int, bool)
	// Handler returns the handler of a kind of work.
	Handler(work string) string
}

// Doer carries out the part of a [Kind].
type Doer interface {
	// Do carries out a command that only this kind has.
	Do(command source.Command)
	// Receive applies the messages and results that only this kind has.
	Receive()
	// Answered applies an answer of admission that is not about an item.
	Answered(answer Answer)
}

// Waiter knows the messages and calls of a [Kind].
type Waiter interface {
	// Ready reports whether Receive has something to do.
	Ready() bool
	// Idle reports whether continue-as-new would lose nothing: no message is unread, no call pending.
	Idle() bool
	// InTask reports whether the workflow task waits for a call.
	InTask() bool
}

// Describer describes a [Kind].
type Describer interface {
	Phase() string
	// Describe writes the text of the Web UI.
	Describe()
	// Arguments returns the arguments of the next workflow run, except its state. pages has the pages of the state.
	Arguments(pages contract.StatePages) []any
}

// Loop drives a run of any kind: it passes events to the core, and carries out its commands.
type Loop struct {
	*Runner

	// Workflow is the type of the workflow, Noun the prefix of its actions in the audit log.
	Workflow, Noun string
	// CancelAction is the action of a canceled item in the audit log.
	CancelAction string
	// Resources are the declared sizes of pools.
	Resources map[string]int
	// DryRun means that the run decides nothing, so its notes are dropped.
	DryRun bool
	// Keys returns the keys of the claims, for an admission that has lost them; nil without claims.
	Keys func() Keys
	// Late records unread messages that only this kind has, when the run has ended; nil without such messages.
	Late func()

	kind    Kind
	core    Core
	backlog Backlog[source.Command]
}

// Open prepares the loop for a core that has begun, or continues. The first event follows by [Loop.Carry].
func (l *Loop) Open(kind Kind, core Core) {
	l.kind, l.core = kind, core
	if core.Engine().Watching() {
		l.Rewatch() // The subscription may be lost.
	}
	l.Observe()
}

// Run passes events to the core until over returns true. Its error may continue the run as new.
func (l *Loop) Run(over func() bool) error {
	for !over() {
		if err := l.continueAsNew(); err != nil {
			return err
		}
		if err := l.wait(); err != nil {
			return err
		}
		l.collect()
	}
	return nil
}

// A call within this workflow task ends before any timer.
func (l *Loop) wait() error {
	ready := func() bool { return l.Ready() || l.kind.Ready() }
	if l.kind.InTask() {
		return l.Await(ready)
	}
	return l.Wait(l.core.NextWake(), l.backlog.Empty(), ready)
}

// Observe passes the length of the history to the core: before the events of a workflow task, and of an update.
func (l *Loop) Observe() {
	events, bytes := l.History()
	l.core.Engine().Observe(l.Now(), events, bytes, l.backlog.Bytes())
}

// Step passes one event to the core, and carries out its commands.
func (l *Loop) Step(event source.Event) {
	l.Carry(l.core.Next(l.Now(), event))
}

// Carry carries out the commands of one event that fit into this workflow task.
func (l *Loop) Carry(commands []source.Command) {
	for _, command := range commands {
		size := 0
		if sized, ok := command.(interface{ Size() int }); ok {
			size = sized.Size()
		}
		if l.backlog.Admit(l.ctx, command, size) {
			l.do(command)
		}
	}
	for _, note := range l.core.Engine().Notes() {
		switch {
		case l.DryRun:
		case note.Item == engine.WholeRun:
			l.Note(note, "")
		default:
			l.Note(note, l.kind.Name(note.Item))
		}
	}
}

func (l *Loop) do(command source.Command) {
	switch c := command.(type) {
	case engine.Decision:
		l.decide(c)
	case source.Acquire:
		l.Admission.SetGrace(jobtype.Duration(c.Grace))
		l.Acquire(c.Decision, l.kind.Name(c.Item), c.Priority, l.Resources)
	case source.GrantLane:
		l.GrantLane(l.kind.Name(c.Job), contract.LaneGrant{Attempt: c.Attempt, Seq: c.Seq})
	default:
		l.kind.Do(c)
	}
}

func (l *Loop) decide(d engine.Decision) {
	switch d.Kind { //nolint:exhaustive // the others need no name
	case engine.Adopt:
		l.Adopt(d, l.kind.Name(d.Item), l.kind.Handler(d.Work))
	case engine.Release:
		l.CarryOut(d, l.kind.Name(d.Item))
	default:
		l.CarryOut(d, "")
	}
}

// Messages come first: a policy or a cancellation that came with results applies to their consequences.
func (l *Loop) collect() {
	tick := l.Collect()
	l.Observe()
	for {
		command, ok := l.backlog.Next(l.ctx)
		if !ok {
			break
		}
		l.do(command)
	}
	l.collectCancels()
	if views := l.Fleet(); len(views) > 0 {
		for _, view := range views {
			l.Step(view)
		}
		l.Viewed(l.core.Engine().Deserted())
	}
	l.Steer()
	l.collectLaneReports()
	l.kind.Receive()
	l.collectAnswers()
	for _, ended := range l.Endings(l.kind.Item) {
		l.Step(ended)
	}
	for _, room := range l.Rooms() {
		l.Step(room)
	}
	for _, probed := range l.Probed() {
		l.Step(probed)
	}
	if tick {
		l.Step(engine.Tick{})
	}
	l.kind.Describe()
}

// The parent of a child has recorded the sender of a cancellation of the workflow.
func (l *Loop) collectCancels() {
	if l.NewlyCanceled() {
		if workflow.GetInfo(l.ctx).ParentWorkflowExecution == nil {
			l.Audit.Canceled(contract.AuditEntry{Action: l.Noun + ".cancel", Before: l.kind.Phase()})
		}
		l.Step(source.Canceled{Reason: "the workflow was canceled"})
	}
	for {
		var in contract.CancelRunInput
		if !l.inbox.cancel.ReceiveAsync(&in) {
			return
		}
		l.Audit.Signaled(contract.SignalCancelRun, contract.AuditEntry{Action: l.Noun + ".cancel", Actor: in.By, Before: l.kind.Phase(), Detail: in.Reason})
		l.Step(source.Canceled{Reason: in.Reason})
	}
}

// Steer applies and records pauses and resumes.
func (l *Loop) Steer() {
	for _, steer := range l.Steers() {
		signal, event, after := contract.SignalResume, source.Event(source.Resumed{}), notPaused
		if steer.Pause {
			signal, event, after = contract.SignalPause, source.Paused{By: steer.By, Note: steer.Note}, pausedText(steer.Note)
		}
		before := notPaused
		if pause := l.core.Engine().Paused(); pause.On() {
			before = pausedText(pause.Note)
		}
		l.Audit.Signaled(signal, contract.AuditEntry{Action: l.Noun + "." + signal, Actor: steer.By, Before: before, After: after})
		l.Step(event)
	}
}

// notPaused is the state of a run that is not paused, in audit entries.
const notPaused = "running"

func pausedText(note string) string { return strings.TrimSuffix("paused: "+note, ": ") }

func (l *Loop) collectLaneReports() {
	for {
		var in contract.LaneReport
		if !l.inbox.lane.ReceiveAsync(&in) {
			return
		}
		if item, known := l.kind.Item(in.JobID); known {
			l.Step(source.LaneReported{Report: breaks.Report{Job: item, Attempt: in.Attempt, Seq: in.Seq, Wants: in.Wants}})
		}
	}
}

func (l *Loop) collectAnswers() {
	if l.WasReset(l.Keys) {
		l.core.Engine().RenewFences(l.Now())
	}
	for _, answer := range l.Answers(l.Keys) {
		if answer.Ask == 0 {
			l.kind.Answered(answer)
		} else if item, known := l.kind.Item(answer.Name); known {
			l.Step(answer.Event(item))
		}
	}
}

// mayContinueAsNew reports whether nothing would be lost. Nothing may be waited for between here and the end of this run.
func (l *Loop) mayContinueAsNew() bool {
	return l.core.ShouldContinueAsNew() && l.backlog.Empty() && l.Idle() && l.kind.Idle()
}

// continueAsNew returns the continue-as-new error; nil if the run stays.
func (l *Loop) continueAsNew() error {
	if !l.mayContinueAsNew() {
		return nil
	}
	whole, err := l.core.Snapshot()
	if err != nil {
		return err
	}
	others, err := sizeOf(l.kind.Arguments(contract.StatePages{}))
	if err != nil {
		return err
	}
	state, pages, saved := l.Save(whole, others)
	if !saved {
		return nil
	}
	if len(pages.Pages) > 0 {
		if err := callNextTask(l.ctx).Get(l.ctx, nil); err != nil {
			return err
		}
		if !l.mayContinueAsNew() {
			l.Drop(pages.Pages) // Messages came meanwhile.
			return nil
		}
	}
	return workflow.NewContinueAsNewError(l.ctx, l.Workflow, append(l.kind.Arguments(pages), state)...)
}

// sizeOf returns the bytes of arguments. Bytes are encoded as they are, others as JSON.
func sizeOf(arguments []any) (total int, err error) {
	for _, argument := range arguments {
		encoded, raw := argument.([]byte)
		if !raw {
			if encoded, err = json.Marshal(argument); err != nil {
				return 0, err
			}
		}
		total += len(encoded)
	}
	return total, nil
}
