package explain

import (
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Did is the action of an audit entry in words. The object of the entry follows them.
func Did(e contract.AuditEntry) string {
	switch {
	case e.Kind == contract.AuditScheduler:
		return e.Action
	case e.Action == contract.AuditRefused:
		return "was refused"
	}
	object, verb, _ := strings.Cut(e.Action, ".")
	if contract.AuditVerb(verb) == contract.VerbSet {
		return didSet(object)
	}
	return DidRequest(verb)
}

// DidRequest is the message of an operator to a run in words. The item follows them.
func DidRequest(verb string) string {
	switch contract.AuditVerb(verb) {
	case contract.VerbSet:
		return didSet("")
	case contract.VerbSetConcurrency:
		return "changed a limit"
	case contract.VerbUpdate:
		return "applied settings"
	case contract.VerbDrift:
		return "applied over a change by hand"
	case contract.VerbRestore:
		return "put settings back"
	case contract.VerbIgnoreWindow:
		return "let run outside its window"
	case contract.VerbRerun:
		return "ran again"
	case contract.VerbRun:
		return "started"
	case contract.VerbBackfill:
		return "ran past instants"
	case contract.VerbSubmit:
		return "submitted jobs"
	case contract.VerbCancel, contract.VerbCancelTask, contract.UpdateCancelItem:
		return "canceled"
	case contract.VerbExpire:
		return "gave up"
	case contract.VerbRetry:
		return "retried"
	case contract.VerbSkip:
		return "skipped"
	case contract.VerbAddTasks:
		return "added tasks"
	case contract.VerbCleanup:
		return "removed dead workers"
	case contract.VerbTakeOver:
		return "took over"
	case contract.VerbForgive:
		return "forgave"
	case contract.VerbMarkDone:
		return "marked as done"
	case contract.VerbReset:
		return "reset"
	case contract.VerbApprove, contract.VerbConfigure, contract.VerbCordon, contract.VerbCreate, contract.VerbDelete, contract.VerbDrain,
		contract.VerbEnd, contract.VerbPause, contract.VerbReEnable, contract.VerbReject, contract.VerbRelease, contract.VerbRemove,
		contract.VerbResize, contract.VerbResume, contract.VerbRevoke, contract.VerbRotate, contract.VerbTerminate, contract.VerbUncordon:
	}
	return past(verb)
}

func didSet(object string) string {
	switch object {
	case "policy":
		return "changed a limit"
	case "calendar":
		return "changed windows"
	}
	return "changed settings"
}

// past is the past tense of a regular verb.
func past(verb string) string {
	if strings.HasSuffix(verb, "e") {
		return verb + "d"
	}
	return verb + "ed"
}

// TextChange is the change of an audit entry in one line, with the name of a single setting once.
func TextChange(before, after string) string {
	_, _, is, one := contract.SettingOf(before, after)
	switch {
	case one:
		return before + " → " + is
	case before == "" || after == "":
		return before + after
	}
	return before + " → " + after
}

// maxBrief bounds the values of a setting in a mark of a chart.
const maxBrief = 16

// TextBriefly names a change in a chart: one setting, with both values if they are short.
func TextBriefly(before, after string) string {
	path, was, is, one := contract.SettingOf(before, after)
	name := strings.TrimPrefix(path, "policy.")
	switch {
	case !one:
		return "settings"
	case len(was)+len(is) < maxBrief:
		return name + " " + was + " → " + is
	}
	return name
}
