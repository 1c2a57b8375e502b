package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Remedy is the help for a state: a step outside Roundsman, and the actions of operators.
type Remedy struct {
	// Wait means that the state may pass by itself.
	Wait bool
	// Hint is a step before the actions, or the whole remedy without actions.
	Hint    string
	Actions []action.Action
	// All means that every action is needed, not just one.
	All bool
}

// Text returns the remedy in one line, with the actions' commands in backquotes.
func (r Remedy) Text() string {
	var change, see []string
	join := "; or " // A dangerous action does not follow the hint as a step.
	for _, one := range r.Actions {
		if line := "`" + one.Command + "`"; one.Reads() {
			see = append(see, line)
		} else {
			change = append(change, line)
			if !one.Danger {
				join = ", then "
			}
		}
	}
	between := ", or "
	if r.All {
		between = " and "
	}
	text := strings.Join(change, between)
	if r.Hint != "" && text != "" {
		text = r.Hint + join + text
	}
	text = cmp.Or(text, r.Hint)
	switch {
	case r.Wait && text != "":
		text = "wait, or " + text
	case r.Wait:
		text = "wait"
	}
	switch {
	case len(see) == 0:
		return text
	case text != "":
		text += "; "
	}
	return text + "see " + strings.Join(see, ", ")
}

// Words returns the remedy without its commands; empty if it has no other words.
func (r Remedy) Words() string {
	if r.Wait && r.Hint != "" {
		return "wait, or " + r.Hint
	}
	return r.Hint
}

func (r Reason) with(remedy Remedy) Reason {
	r.Remedy, r.Hint, r.Actions = remedy.Text(), remedy.Words(), remedy.Actions
	if r.Actions == nil {
		r.Actions = []action.Action{}
	}
	if r.Actor = ""; !hasButton(r.Actions) {
		r.Actor = actor(r.Code)
	}
	return r
}

func act(actions ...action.Action) Remedy { return Remedy{Actions: actions} }

func or(actions ...action.Action) Remedy { return Remedy{Wait: true, Actions: actions} }

func about(operation action.Operation, name, value string) action.Action {
	return action.New(operation, action.Args{name: value})
}

func lookAt(run, item string) action.Action {
	thing := run
	if item != "" {
		thing += "/" + item
	}
	return action.New(action.Explain, action.Args{"thing": thing, "run": run, "item": item})
}

// actor returns who can change a code's state, for a reason without a button; empty for a code that has one.
func actor(code contract.Code) string {
	switch code { //nolint:exhaustive // the others have a button
	case contract.CodeControlPlaneDown, contract.CodeWorkflowStuck:
		return "an administrator of the control plane, in a shell"
	case contract.CodePaused:
		return "an administrator of Temporal, in a shell"
	case contract.CodeNoWorker:
		return "an administrator of the workers, in a shell"
	case contract.CodeUnreachable:
		return "an administrator of the machine: its power, its network or its process"
	case contract.CodeCannotStart:
		return "an administrator of the machine: its open files, memory or processes"
	case contract.CodeNotInstalled:
		return "an administrator of the machine: the program is missing"
	case contract.CodeDiskFull:
		return "an administrator of the machine: its disk is full"
	case contract.CodeNoReceiver:
		return "an administrator of the control plane: its configuration lacks the receiver"
	case contract.CodeReceiverFailing:
		return "an administrator of the receiver; the next try delivers"
	case contract.CodeClaimHeld:
		return "it ends by itself, after the runs that have waited longer"
	case contract.CodeOutcome:
		return "it ends by itself: the lost worker has some seconds to deliver the outcome"
	case contract.CodeDeduped:
		return "no action is needed: another run does the same work"
	case contract.CodeIdle:
		return "no action is needed"
	case contract.CodeDetecting, contract.CodeClaims, contract.CodeResources, contract.CodeStarting, contract.CodeRecovering, contract.CodeFleetRecovering:
		return "it ends by itself in a moment"
	case contract.CodeUpstream:
		return "the person who can repair the task that it needs"
	case contract.CodeBacklog:
		return "it ends by itself, after the jobs before it"
	case contract.CodeItemsInFlight:
		return "it ends by itself, after an item in flight"
	}
	return ""
}

// hasButton reports whether an action changes something by a request.
func hasButton(actions []action.Action) bool {
	return slices.ContainsFunc(actions, func(a action.Action) bool { return a.Request != nil && !a.Reads() })
}

func remedy(code contract.Code, object string) Remedy {
	switch code { //nolint:exhaustive // the others follow in passing
	case contract.CodeControlPlaneDown:
		return act(action.New(action.StartServer, nil), action.New(action.GetDoctor, nil))
	case contract.CodeWorkflowStuck:
		return StuckRemedy(object)
	case contract.CodeDisabled:
		return Remedy{Hint: "set `enabled: true` in the configuration", Actions: []action.Action{action.New(action.ApplyConfiguration, nil)}}
	case contract.CodePaused:
		return act(about(action.ResumeJobType, "name", object))
	case contract.CodeRetryBudget, contract.CodeMarkedDone:
		return Remedy{} // The job type and the key are part of it: see reasonOfHold.
	case contract.CodeAfter:
		return or(about(action.RunJobType, "name", object), lookAt(object, ""))
	case contract.CodeWindowClosed:
		return Remedy{Wait: true, Hint: "change the windows", Actions: []action.Action{
			action.New(action.ApplyConfiguration, nil), action.New(action.RunJobType, action.Args{"name": object, "ignore_window": "true"}),
		}}
	case contract.CodeWindowFit:
		return Remedy{Wait: true, Hint: "make the window longer, or the job smaller", Actions: []action.Action{action.New(action.ApplyConfiguration, nil)}}
	case contract.CodeLaneBusy:
		return Remedy{Wait: true, Hint: "give the job type another lane", Actions: []action.Action{action.New(action.ApplyConfiguration, nil)}}
	case contract.CodeNoWorker:
		return act(action.New(action.StartWorker, nil), action.New(action.ListWorkers, nil))
	case contract.CodeNoReceiver:
		return Remedy{Hint: "write `notify.receivers." + object + "` into the configuration of the control plane", Actions: []action.Action{action.New(action.StartServer, nil)}}
	case contract.CodeReceiverFailing:
		return Remedy{Hint: "repair it: the next try delivers", Actions: []action.Action{about(action.TestReceiver, "name", object)}}
	case contract.CodeParked, contract.CodeApproval, contract.CodeUpstream, contract.CodeItemsInFlight, contract.CodeItemFailed, contract.CodeConcurrency, contract.CodeGlobalLimit, contract.CodeBacklog, contract.CodeWorkerLimit, contract.CodeLosesWorkers, contract.CodeSleeping, contract.CodeNotBefore, contract.CodeDeferred, contract.CodeGuard:
		return Remedy{} // The run and the item are part of it: see remedyIn.
	}
	return passing(code, object)
}

// passing returns the help for a state that may pass by itself, and for a worker.
func passing(code contract.Code, object string) Remedy {
	one := object
	if strings.Contains(object, ",") {
		one = "" // Several workers.
	}
	switch code { //nolint:exhaustive // the others are in remedy
	case contract.CodeNotDue:
		return or(about(action.RunJobType, "name", object))
	case contract.CodeClaimHeld:
		return or(action.New(action.CancelItem, nil))
	case contract.CodePoolFull:
		return or(about(action.SetPoolSize, "pool", object))
	case contract.CodeSlots:
		return or(about(action.ResizeWorker, "id", one), action.New(action.StartWorker, nil))
	case contract.CodeUnreachable:
		return Remedy{Hint: "look at its process and network", Actions: []action.Action{about(action.GetWorker, "id", one)}}
	case contract.CodeCannotStart:
		return Remedy{Hint: "repair the node (open files, memory, disk, processes): a start clears it", Actions: []action.Action{about(action.GetWorker, "id", one)}}
	case contract.CodeNotInstalled:
		return Remedy{Hint: "install the program there, or write its path", Actions: []action.Action{about(action.GetWorker, "id", one)}}
	case contract.CodeDiskFull:
		return Remedy{Hint: "make room on its disk, or lower output.keep", Actions: []action.Action{about(action.GetWorker, "id", one)}}
	case contract.CodeCordoned:
		return act(about(action.UncordonWorker, "id", one))
	case contract.CodeBackoff:
		return Remedy{Wait: true, Hint: "lower retry_backoff", Actions: []action.Action{action.New(action.ApplyConfiguration, nil)}}
	case contract.CodeDeduped:
		return Remedy{Hint: "nothing to do: the other run does it"}
	case contract.CodeOutcome:
		return Remedy{Hint: "wait a few seconds: the lost worker may still deliver the outcome"}
	case contract.CodeIdle:
		return Remedy{Hint: "nothing to do; apply a job type that uses its handlers"}
	case contract.CodeDetecting, contract.CodeClaims, contract.CodeResources, contract.CodeStarting, contract.CodeRecovering, contract.CodeFleetRecovering:
		return Remedy{Hint: "wait a moment", Actions: []action.Action{action.New(action.GetDoctor, nil)}}
	}
	return Remedy{}
}

// StuckRemedy returns the help for a workflow that the control plane cannot continue.
func StuckRemedy(workflow string) Remedy {
	return Remedy{
		Hint:    "start the version that began it, or a corrected one, in place of all others: it continues by itself",
		Actions: []action.Action{action.New(action.GetDoctor, nil), about(action.TerminateWorkflow, "workflow", workflow)},
	}
}

// UnreadRemedy returns the help for a run whose state cannot be read.
func UnreadRemedy(workflow string) Remedy {
	return Remedy{
		Hint:    "in Temporal, reset the workflow run before this one to its last workflow task: it writes the state again",
		Actions: []action.Action{action.New(action.GetDoctor, nil), about(action.TerminateWorkflow, "workflow", workflow)},
	}
}

// remedyIn returns the help that depends on the run and the item; ok is false if neither
// matters.
func remedyIn(r Reason, run RunFacts, item ItemFacts) (found Remedy, ok bool) {
	first, _, _ := strings.Cut(r.Object, ", ")
	set := func(setting string) Remedy {
		return or(action.New(action.SetRun, action.Args{"run": run.ID, "setting": setting}))
	}
	on := func(operation action.Operation, item string) action.Action {
		return action.New(operation, action.Args{"run": run.ID, "item": item})
	}
	switch r.Code { //nolint:exhaustive // the others are the same in all runs
	case contract.CodePaused:
		if r.Object == "" {
			return act(about(action.ResumeRun, "run", run.ID)), true
		}
	case contract.CodeAfter:
		return or(about(action.RunJobType, "name", r.Object),
			action.New(action.RunJobType, action.Args{"name": run.JobType, "ignore_window": "true"}), lookAt(r.Object, "")), true
	case contract.CodeBacklog:
		return or(lookAt(run.ID, "")), true
	case contract.CodeGlobalLimit:
		return set("global_execution_concurrency"), true
	case contract.CodeWorkerLimit:
		return set("per_worker_execution_concurrency"), true
	case contract.CodeConcurrency:
		return set(contract.ConcurrencyOf(r.Object)), true
	case contract.CodeParked:
		if first != r.Object {
			first = ""
		}
		return act(about(action.RetryRun, "run", run.ID), on(action.SkipItem, first), about(action.ReleaseRun, "run", run.ID)), true
	case contract.CodeApproval:
		return act(on(action.ApproveItem, r.Object), on(action.RejectItem, r.Object)), true
	case contract.CodeUpstream:
		found = act(lookAt(run.ID, first))
		if item.State == "upstream_failed" {
			found.Actions = append(found.Actions, about(action.RetryRun, "run", run.ID))
		}
		return found, true
	case contract.CodeItemsInFlight:
		found = act(lookAt(run.ID, first))
		found.Wait = true
		return found, true
	case contract.CodeItemFailed:
		return act(lookAt(run.ID, first), about(action.RetryRun, "run", run.ID)), true
	case contract.CodeSleeping, contract.CodeNotBefore, contract.CodeDeferred, contract.CodeGuard, contract.CodeLosesWorkers:
		return or(on(action.CancelItem, item.ID)), true
	case contract.CodeBackoff:
		if run.DAG != "" {
			return Remedy{Wait: true, Hint: "lower retries.backoff of the task"}, true
		}
	}
	return Remedy{}, false
}
