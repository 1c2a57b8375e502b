package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/lib/hook"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

type surrounding struct {
	program program
	hooks   launch.Hooks
	owed    *hook.Owed
	// note keeps the next attempt waiting until the hooks have ended.
	note *note
	log  io.Writer
	// alive keeps the attempt while a hook runs. It is nil after the end of the attempt.
	alive func()
	// stuck reports a hook that still cannot start. It is nil within the attempt.
	stuck func(error)
}

// Pauses between two signs of life, and between two tries to start a hook.
const (
	hookPause    = time.Second
	maxHookPause = 10 * time.Second
)

func (p program) surround(log io.Writer, alive func()) *surrounding {
	s := &surrounding{program: p, hooks: p.launch.Hooks, log: log, alive: alive}
	set := s.hooks.All()
	if len(set) == 0 {
		return s
	}
	if set[0].Name == launch.HookBefore {
		set = set[1:]
	}
	s.owed = &hook.Owed{
		Job: p.owner.Job, Key: p.owner.Key, Attempt: p.owner.Attempt, Launch: p.launch, Own: p.own,
		Outcome: hook.Outcome{Kind: hook.Lost, Code: -1}, Pending: set,
	}
	s.note = p.ledger.enter("a hook", 0, p.owner)
	s.noted(s.owed.Open(p.ledger.dir, s.note.Mark))
	return s
}

// noted reports a file that cannot be written, which is no reason not to run the program.
func (s *surrounding) noted(err error) {
	if err != nil {
		_, _ = fmt.Fprintf(s.log, "[hooks] not noted, so they are lost with the worker: %v\n", err)
	}
}

// An error of the first hook is classified like one of the program, by its exit code.
func (s *surrounding) before(ctx context.Context, settings executeSettings) (jobtype.Result, error) {
	if len(s.hooks.Before) == 0 {
		return jobtype.Result{}, nil
	}
	settings.ExitCodes.Success, settings.ExitCodes.Warning = nil, nil
	defer s.beat(ctx)()
	outcome, output, errorOutput, err := s.run(ctx, launch.Hook{Name: launch.HookBefore, Command: s.hooks.Before}, nil)
	result, err := settings.result(s.hooks.Before[0], outcome, err, output, errorOutput)
	if err != nil {
		err = fmt.Errorf("hook %s: %w", launch.HookBefore, err)
	}
	return result, err
}

// close runs the closing hooks, also if ctx has ended. The failure of a hook turns a success into a warning.
func (s *surrounding) close(ctx context.Context, progress jobtype.Progress, result jobtype.Result, err error) (jobtype.Result, error) {
	settling := ctx
	if code, ended := result.Data["exit_code"].(int); ended && code >= 0 { // It has ended by itself, and not by the signal of a stop.
		settling = context.WithoutCancel(ctx)
	}
	jobtype.Settle(settling, progress, result, err)
	if s.owed == nil {
		return result, err
	}
	defer context.AfterFunc(ctx, s.note.outlast)() // The work may be placed again from then on.
	s.noted(s.owed.Settle(hook.Of(result, err)))
	fault := s.pay(context.WithoutCancel(ctx))
	switch {
	case fault == nil:
	case err != nil:
		err = fmt.Errorf("%w (%s)", err, jobtype.OneLine(fault.Error(), jobtype.MaxSummaryBytes))
	default:
		result.Warning = strings.TrimPrefix(result.Warning+"\n"+fault.Error(), "\n")
	}
	return result, err
}

func (s *surrounding) pay(ctx context.Context) error {
	defer s.note.strike()
	var faults []error
	for next := s.owed.Next(); next != nil; next = s.owed.Next() {
		if fault := s.closing(ctx, *next); fault != nil {
			_, _ = fmt.Fprintf(s.log, "[%s] %v\n", next.Name, fault)
			faults = append(faults, fmt.Errorf("hook %s: %w", next.Name, fault))
		}
		s.noted(s.owed.Done())
	}
	return errors.Join(faults...)
}

// closing tries again if the hook surely has not begun. A passing fault of the node must not prevent a cleanup.
func (s *surrounding) closing(ctx context.Context, next launch.Hook) error {
	defer s.beat(ctx)()
	begun := time.Now()
	for pause := hookPause; ; pause = min(2*pause, maxHookPause) {
		outcome, output, errorOutput, err := s.run(ctx, next, s.owed.Outcome.Environment())
		start, failed := errors.AsType[*startError](err)
		late := time.Since(begun) >= s.hooks.Limit()
		switch {
		case failed && !start.begun && s.again(start.permanent, late):
			if late {
				s.stuck(failure(next.Command[0], err))
				begun = time.Now()
			}
			time.Sleep(pause)
		case err != nil:
			return failure(next.Command[0], err)
		case outcome.code != 0 || outcome.signal != "":
			return describe(next.Command[0], outcome, errorOutput, output)
		default:
			return nil
		}
	}
}

// An attempt waits for passing faults only, and not for long. Later, nothing of the same job starts before its hooks, so
// they may take any time. After a start of the machine, users and mounts may come later than the worker.
func (s *surrounding) again(permanent, late bool) bool {
	if s.stuck == nil {
		return !permanent && !late
	}
	return !permanent || !late
}

func (s *surrounding) beat(ctx context.Context) (stop context.CancelFunc) {
	ctx, stop = context.WithCancel(ctx)
	beating := s.program.watcher
	if beating == nil && s.alive != nil {
		beating = &watcher{alive: s.alive, pause: hookPause}
	}
	beating.beat(ctx)
	return stop
}

func (s *surrounding) run(ctx context.Context, one launch.Hook, own []string) (outcome ended, output, errorOutput string, err error) {
	ctx, end := context.WithTimeoutCause(ctx, s.hooks.Limit(), fmt.Errorf("it is over hooks.timeout, %s", s.hooks.Limit()))
	defer end()
	p := s.program
	p.argv, p.stdin, p.launch.Stdin = one.Command, nil, launch.StdinNone
	p.own = slices.Concat(p.own, []string{"ROUNDSMAN_HOOK=" + one.Name}, own)
	kept, keptError := tail.New(stderrKept), tail.New(stderrKept)
	stdout, stderr := hook.Marked(s.log, "["+one.Name+"] "), hook.Marked(s.log, "["+one.Name+"] ")
	outcome, err = p.with(func(from io.Reader) error {
		_, err := io.Copy(io.MultiWriter(kept, stdout), from)
		return err
	}, io.MultiWriter(keptError, stderr)).run(ctx)
	return outcome, outcome.text(kept), outcome.text(keptError), err
}

// payOwed runs the closing hooks that an earlier process of the worker has left. Nothing of the same job starts before.
// While their program may live, they stay for the next process of the worker.
func (h *Handler) payOwed(ctx context.Context, workerID string, ledger *ledger, ended bool) error {
	if ledger.dir == "" {
		return nil
	}
	left, err := again(ctx, func() ([]*hook.Owed, error) { return hook.Read(ledger.dir) })
	for _, owed := range left {
		p := h.program(rendered{Spec: owed.Launch}, owed.Own, nil, workerID)
		p.owner = owner{Job: owed.Job, Key: owed.Key, Attempt: owed.Attempt}
		s := &surrounding{program: p, hooks: owed.Launch.Hooks, owed: owed, log: io.Discard}
		s.note = ledger.enter("an owed hook", 0, p.owner)
		if s.note.owed = "runs here, or is tried until it starts"; !ended {
			s.note.owed = "waits here until the worker starts again"
		}
		s.note.outlast()
		log := slog.Default().With("worker", workerID, "job", owed.Job, "attempt", owed.Attempt, "outcome", owed.Outcome.Kind)
		s.stuck = func(fault error) {
			log.Error("a hook that an earlier process of this worker left cannot be started and is tried again; no attempt at its job starts here "+
				"before that; mend the cause, or stop the worker and delete the file to give the hook up", "file", owed.File(), "error", fault)
		}
		if ended {
			go s.payLeft(context.WithoutCancel(ctx), log)
		}
	}
	return err
}

func (s *surrounding) payLeft(ctx context.Context, log *slog.Logger) {
	if fault := s.pay(ctx); fault != nil {
		log.Error("hooks that an earlier process of this worker left have failed, or could not be started; check what they clean up", "error", fault)
		return
	}
	log.Warn("the hooks that an earlier process of this worker left have run")
}
