package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/workerview"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. Roundsman works in spite of a warning.
const (
	VerdictOK   Verdict = "ok"
	VerdictWarn Verdict = "warn"
	VerdictFail Verdict = "fail"
)

// Check is one check with its result.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Code is the code of the finding, if any.
	Code contract.Code `json:"code,omitempty"`
	// Found is the finding, Fix the remedy; Fix is empty if all is well.
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
	// Hint is the part of Fix without its commands.
	Hint string `json:"hint,omitempty"`
	// Actions are the commands of Fix.
	Actions []action.Action `json:"actions,omitempty"`
	// Listed means that the states that need a person include the whole finding.
	Listed bool `json:"listed,omitempty"`
	// of has the things of the finding, each as kind and name.
	of []string
}

// Line returns the code and the finding.
func (c *Check) Line() string {
	if c.Code == "" {
		return c.Found
	}
	return string(c.Code) + ": " + c.Found
}

// Help sets the remedy.
func (c *Check) Help(remedy explain.Remedy) {
	c.Fix, c.Hint, c.Actions = remedy.Text(), remedy.Words(), remedy.Actions
}

func hinted(hint string, actions ...action.Action) explain.Remedy {
	return explain.Remedy{Hint: hint, Actions: actions}
}

func do(operation action.Operation, args ...string) action.Action {
	given := action.Args{}
	for i := 0; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	return action.New(operation, given)
}

const (
	// minServer is the oldest server with worker heartbeats and ListWorkers.
	minServer     = "1.29"
	minRetention  = 24 * time.Hour
	goodRetention = "72h"
	// maxSkew is the clock difference from which times of several machines become confusing.
	maxSkew = 5 * time.Second
)

// CheckServer checks the server and the namespace, the requirements of a control plane.
func CheckServer(ctx context.Context, c *starter.Client) []Check {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	namespace, err := c.Temporal().WorkflowService().DescribeNamespace(limited,
		&workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace()})
	switch {
	case err != nil && isSilent(err):
		return []Check{namespaceFailure(c.Namespace(), err)} // Nothing else is answered either.
	case err != nil:
		return []Check{checkVersion(ctx, c), namespaceFailure(c.Namespace(), err)}
	}
	return []Check{
		checkVersion(ctx, c),
		checkRetention(c.Namespace(), namespace),
		checkHeartbeats(namespace),
		checkSearchAttributes(ctx, c),
		checkSchedules(ctx, c),
	}
}

// Doctor is CheckServer with the control plane and the workers.
func Doctor(ctx context.Context, c *starter.Client) []Check {
	checks := CheckServer(ctx, c)
	if Failed(checks) && slices.ContainsFunc(checks, func(check Check) bool { return check.Name == "namespace" && check.Verdict == VerdictFail }) {
		return checks // Without a namespace there is nothing else to check.
	}
	checks = append(checks, checkFrontend(ctx, c)...)
	checks = append(checks, checkStorage(ctx, c), checkStuck(ctx, c))
	return append(checks, checkControlPlane(ctx, c)...)
}

// Report is the result of all checks.
type Report struct {
	OK       bool    `json:"ok"`
	Passed   int     `json:"passed" doc:"Checks with the verdict ok"`
	Warnings int     `json:"warnings" doc:"Checks with the verdict warn"`
	Checks   []Check `json:"checks"`
}

// ReportOf counts the verdicts.
func ReportOf(checks []Check) Report {
	report := Report{OK: !Failed(checks), Checks: checks}
	for _, check := range checks {
		switch check.Verdict {
		case VerdictOK:
			report.Passed++
		case VerdictWarn:
			report.Warnings++
		case VerdictFail:
		}
	}
	return report
}

// Failed reports whether a check failed.
func Failed(checks []Check) bool {
	return slices.ContainsFunc(checks, func(check Check) bool { return check.Verdict == VerdictFail })
}

func checkVersion(ctx context.Context, c *starter.Client) Check {
	check := Check{Name: "server version"}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, err := c.Temporal().WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	}
	check.Verdict, check.Found = VerdictOK, info.GetServerVersion()
	if olderThan(info.GetServerVersion(), minServer) {
		check.Verdict = VerdictWarn
		check.Help(hinted("Roundsman is developed against server 1.32; upgrade to " + minServer + " or newer"))
	}
	return check
}

// olderThan compares major and minor. An unreadable version is not older.
func olderThan(version, oldest string) bool {
	var major, minor, wantMajor, wantMinor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(oldest, "%d.%d", &wantMajor, &wantMinor); err != nil {
		return false
	}
	return major < wantMajor || major == wantMajor && minor < wantMinor
}

func namespaceFailure(namespace string, err error) Check {
	check := Check{Name: "namespace"}
	check.unknown(VerdictFail, "could not be read: ", err)
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		check.Found = fmt.Sprintf("%q does not exist", namespace)
		check.Help(hinted("", do(action.CreateNamespace, "namespace", namespace, "retention", goodRetention)))
	}
	return check
}

func checkRetention(name string, namespace *workflowservice.DescribeNamespaceResponse) Check {
	retention := namespace.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	check := Check{
		Name: "namespace", Verdict: VerdictOK,
		Found: fmt.Sprintf("closed runs are kept for %s in %s", explain.Setting(retention), name),
	}
	if retention < minRetention {
		check.Verdict = VerdictWarn
		check.Found += ": runs disappear soon after they end"
		check.Help(hinted("", do(action.KeepRuns, "namespace", name, "retention", goodRetention)))
	}
	return check
}

func checkHeartbeats(namespace *workflowservice.DescribeNamespaceResponse) Check {
	if namespace.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats() {
		return Check{Name: "worker heartbeats", Verdict: VerdictOK, Found: "supported"}
	}
	check := Check{Name: "worker heartbeats", Verdict: VerdictFail, Found: "the server does not take worker heartbeats"}
	check.Help(hinted("Roundsman judges by them which workers live; use server " + minServer + " or newer and set frontend.WorkerHeartbeatsEnabled: true in its dynamic configuration"))
	return check
}

func checkSearchAttributes(ctx context.Context, c *starter.Client) Check {
	check := Check{Name: "search attributes", Verdict: VerdictOK}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	missing, err := missingSearchAttributes(ctx, c)
	switch {
	case err != nil:
		check.unknown(VerdictWarn, "could not be listed: ", err)
	case len(missing) > 0:
		check.Verdict, check.Found = VerdictFail, "missing: "+strings.Join(missing, ", ")
		check.Help(createAttributes(c.Namespace(), missing))
	default:
		check.Found = contract.SearchAttributeJobType + ", " + contract.SearchAttributeOutcome
	}
	return check
}

func createAttributes(namespace string, names []string) explain.Remedy {
	remedy := explain.Remedy{All: true}
	for _, name := range names {
		remedy.Actions = append(remedy.Actions, do(action.CreateSearchAttribute, "namespace", namespace, "name", name))
	}
	return remedy
}

func checkSchedules(ctx context.Context, c *starter.Client) Check {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, err := c.Temporal().WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	switch {
	case err != nil:
		check := Check{Name: "schedules"}
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	case !info.GetCapabilities().GetSupportsSchedules():
		check := Check{Name: "schedules", Verdict: VerdictFail, Found: "the server does not support Schedules"}
		check.Help(hinted("every job type is a Schedule; use server " + minServer + " or newer"))
		return check
	}
	return Check{Name: "schedules", Verdict: VerdictOK, Found: "supported"}
}

// Pollers stay listed for five minutes after a kill, but an answer proves that a control plane runs.
func checkControlPlane(ctx context.Context, c *starter.Client) []Check {
	plane := Check{Name: "control plane", Verdict: VerdictOK, Found: "answers"}
	workers, err := c.Workers().List(ctx, contract.WorkersQueryInput{})
	if err != nil {
		plane.Help(hinted("", do(action.StartServer)))
		plane.unknown(VerdictFail, "does not answer: ", err)
		if down, isDown := errors.AsType[*starter.ControlPlaneDownError](err); isDown {
			judgeSilence(ctx, c, &plane, down)
		}
		if gone, isGone := errors.AsType[*starter.RegistryGoneError](err); isGone {
			plane.Found = gone.What()
			plane.Help(explain.Remedy{Wait: true, Hint: "restart the control plane", Actions: []action.Action{do(action.StartServer)}})
		}
		if stuck, isStuck := errors.AsType[*starter.StuckWorkflowError](err); isStuck {
			plane.Code, plane.Found = contract.CodeWorkflowStuck, stuck.Why()
			plane.Help(explain.StuckRemedy(stuck.WorkflowID))
		}
		return []Check{plane}
	}
	polling := tellVersions(ctx, c, &plane)
	return append([]Check{plane}, append(checkSettings(ctx, c, polling), checkWorkers(workers), checkClocks(workers))...)
}

func checkWorkers(workers []contract.WorkerDetail) Check {
	slots := 0
	var others, suspect, of []string
	var code contract.Code
	var resumes []action.Action
	for _, worker := range workers {
		if !workerview.IsOnline(worker) || worker.Trouble != nil {
			of = append(of, thing(explainer.KindWorker, worker.Registration.ID))
		}
		if workerview.IsOnline(worker) {
			slots += worker.Registration.Caps().MaxExecute
			if worker.Trouble != nil {
				suspect, code = append(suspect, worker.Registration.ID), worker.Trouble.Code
				others = append(others, worker.Registration.ID+": "+worker.Trouble.Reason)
			}
		} else {
			others = append(others, worker.Registration.ID+" is "+stateOf(worker))
		}
		if worker.State == contract.WorkerDraining || worker.State == contract.WorkerCordoned {
			resumes = append(resumes, do(action.UncordonWorker, "id", worker.Registration.ID))
		}
	}
	online := workerview.Online(workers)
	check := Check{Name: "workers", Verdict: VerdictOK, Code: code, of: of, Found: fmt.Sprintf("%d online with %d slots", online, slots)}
	if len(others) > 0 {
		check.Verdict = VerdictWarn
		check.Found += "; " + strings.Join(others, ", ")
		check.Help(hinted("", append(one(resumes), do(action.ListWorkers))...))
	}
	if len(suspect) > 0 {
		check.Help(hinted("repair the node", do(action.GetWorker, "id", suspect[0])))
	}
	if online == 0 {
		check.Verdict = VerdictFail
		check.Found += ": nothing can be detected or executed"
		check.Help(hinted("", append(resumes[:min(len(resumes), 3)], do(action.StartWorker))...))
	}
	return check
}

// one returns the only action; buttons of several workers would look alike.
func one(actions []action.Action) []action.Action {
	if len(actions) != 1 {
		return nil
	}
	return actions
}

// stateOf returns the worker's state. Online alone would contradict a worker that is not usable.
func stateOf(worker contract.WorkerDetail) string {
	if worker.State == contract.WorkerOnline && !worker.Fresh {
		return "online, but not fresh (no heartbeat for three intervals)"
	}
	return strings.ToLower(string(worker.State))
}

func checkClocks(workers []contract.WorkerDetail) Check {
	var skewed []string
	for _, worker := range workers {
		if worker.State == contract.WorkerOnline && worker.Skew.Std().Abs() > maxSkew {
			skewed = append(skewed, fmt.Sprintf("%s by %s", worker.Registration.ID, explain.Span(worker.Skew.Std())))
		}
	}
	if len(skewed) == 0 {
		return Check{Name: "clocks", Verdict: VerdictOK, Found: "no worker's clock is off by more than " + explain.Span(maxSkew)}
	}
	check := Check{Name: "clocks", Verdict: VerdictWarn, Found: "these are off: " + strings.Join(skewed, ", ")}
	check.Help(hinted("synchronise the clocks (NTP): decisions are safe, but times from these workers mislead"))
	return check
}
