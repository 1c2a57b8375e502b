package explain

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/jobtype"
)

// PutBack is the action that reverts an operator's action, or the reason why there is none.
type PutBack struct {
	Action *action.Action `json:"action,omitempty"`
	None   string         `json:"none,omitempty"`
}

// PutBackOf returns how an operator's entry is reverted; nil for an entry of the scheduler.
func PutBackOf(e contract.AuditEntry) *PutBack {
	if e.Kind != contract.AuditOperator {
		return nil
	}
	if e.Superseded {
		return &PutBack{None: "changed again since"}
	}
	return new(revert(e))
}

func revert(e contract.AuditEntry) PutBack {
	switch e.Action {
	case "jobtype.pause":
		return by(action.ResumeJobType, action.Args{"name": e.JobType})
	case "jobtype.resume":
		return by(action.PauseJobType, action.Args{"name": e.JobType})
	case "jobtype.set", "apply.update", "apply.drift", contract.AuditRestore:
		if former := settingsBefore(e.Before, e.After); former != nil && !(e.Restorable && moreThanInterval(e)) {
			former["name"] = e.JobType
			return by(action.SetJobType, former)
		}
		return allSettings(e)
	case "apply.delete":
		return allSettings(e)
	case "run.pause", "dag.pause":
		return by(action.ResumeRun, action.Args{"run": e.Object})
	case "run.resume", "dag.resume":
		return by(action.PauseRun, action.Args{"run": e.Object})
	case "pool.resize":
		return poolSize(e)
	case "hold.mark-done":
		_, key, _ := strings.Cut(strings.TrimPrefix(e.Object, "jobtype/"), "/key ")
		return by(action.ForgiveKey, action.Args{"name": e.JobType, "key": key})
	}
	if id, is := strings.CutPrefix(e.Object, "worker/"); is {
		return revertWorker(e, id)
	}
	return PutBack{None: lasting(e.Action)}
}

func by(operation action.Operation, args action.Args) PutBack {
	found := action.New(operation, args)
	if operation == action.ResizeWorker || operation == action.SetPoolSize {
		found.Label = "Put back"
	}
	return PutBack{Action: &found}
}

func revertWorker(e contract.AuditEntry, id string) PutBack {
	one := action.Args{"id": id}
	switch e.Action {
	case "worker.cordon", "worker.drain":
		return by(action.UncordonWorker, one)
	case "worker.resize":
		found := workerSize.FindStringSubmatch(e.Before)
		switch {
		case found == nil:
			return PutBack{None: unknownSize}
		case found[3] == "":
			return by(action.ResizeWorker, action.Args{"id": id, "reset": "true"})
		}
		return by(action.ResizeWorker, action.Args{"id": id, "max_detect": found[1], "max_execute": found[2]})
	case "worker.uncordon":
		switch contract.WorkerState(e.Before) { //nolint:exhaustive // the others hold no work back
		case contract.WorkerCordoned:
			return by(action.CordonWorker, one)
		case contract.WorkerDraining:
			return by(action.DrainWorker, one)
		}
		return PutBack{None: "nothing held it back before"}
	}
	return PutBack{None: lasting(e.Action)}
}

const unknownSize = "its former size is not known"

var (
	workerSize  = regexp.MustCompile(`^detect: (\d+); execute: (\d+)( \(resized\))?$`)
	sizeOfPool  = regexp.MustCompile(`^size: (\d+)( \(resized\))?$`)
	onePolicy   = regexp.MustCompile(`^policy\.(\w+): (\S+)$`)
	oneInterval = regexp.MustCompile(`^schedule: every (\w+)( |$)`)
	// restOfInterval matches the offset and jitter behind the length.
	restOfInterval = regexp.MustCompile(`(?:^|; )schedule: every (\w+)([^;]*)`)
	offsetIn       = regexp.MustCompile(` offset \w+`)
	newInterval    = regexp.MustCompile(`(^|; )schedule: every `)
)

func poolSize(e contract.AuditEntry) PutBack {
	found := sizeOfPool.FindStringSubmatch(e.Before)
	if found == nil {
		return PutBack{None: unknownSize}
	}
	size := "0"
	if found[2] != "" {
		size = found[1]
	}
	return by(action.SetPoolSize, action.Args{"pool": strings.TrimPrefix(e.Object, "pool/"), "size": size})
}

func allSettings(e contract.AuditEntry) PutBack {
	if !e.Restorable {
		return PutBack{None: "not kept: apply the former file"}
	}
	return by(action.RestoreJobType, action.Args{"name": e.JobType, "entry": strconv.FormatInt(e.Seq, 10)})
}

// settingsBefore parses texts like "policy.retry_limit: 2; schedule: every 8h". It returns nil
// unless an operator can set each of the settings on its own.
func settingsBefore(before, after string) action.Args {
	if before == "" || strings.Contains(before, "…") {
		return nil
	}
	settings := action.Args{}
	for side := range strings.SplitSeq(before, "; ") {
		policy, interval := onePolicy.FindStringSubmatch(side), oneInterval.FindStringSubmatch(side)
		switch {
		case policy != nil && policy[2] != "(none)":
			settings[policy[1]] = policy[2]
		case interval != nil && newInterval.MatchString(after) && !strings.Contains(side, " or ") && !strings.Contains(side, " except "):
			settings["every"] = interval[1]
		default:
			return nil
		}
	}
	return settings
}

// moreThanInterval reports whether an entry changed the offset or jitter of an interval. `set` changes only its length,
// and the offset that follows from it.
func moreThanInterval(e contract.AuditEntry) bool {
	rest := func(text string) string {
		found := restOfInterval.FindStringSubmatch(text)
		if found == nil {
			return ""
		}
		every, err := jobtype.ParseDuration(found[1])
		if err != nil {
			return found[2]
		}
		return offsetIn.ReplaceAllStringFunc(found[2], func(text string) string {
			if offset, err := jobtype.ParseDuration(strings.Fields(text)[1]); err == nil && offset == contract.SpreadOffset(e.JobType, every) {
				return ""
			}
			return text
		})
	}
	return rest(e.Before) != rest(e.After)
}

func lasting(action string) string {
	switch action {
	case "apply.create":
		return "prune it with apply"
	case "worker.remove":
		return "it registers when it lives"
	case "worker.cleanup":
		return "they register when they live"
	case "worker.take-over":
		return "the other process has ended"
	case "hold.forgive":
		return "the held items are forgotten"
	case "hold.re-enable":
		return "its failures are forgotten"
	case "jobtype.run", "jobtype.backfill", "jobs.submit", "dag.run", "dag.retry":
		return "cancel the run instead"
	case "run.cancel", "run.terminate", "job.cancel", "job.expire", "dag.cancel", "key.revoke", "sessions.end":
		return "an end is final"
	case "dag.cancel-task", "dag.skip":
		return "retry the task instead"
	case "key.create", "key.rotate":
		return "revoke the key instead"
	case "policy.set":
		return "set it again for the run"
	case "calendar.set":
		return "apply the former windows"
	}
	return "its effects have begun"
}
