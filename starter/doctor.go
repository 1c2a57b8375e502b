package starter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Verdict is what a check found.
type Verdict string

// The verdicts. A warning does not keep Roundsman from working.
const (
	VerdictOK   Verdict = "ok"
	VerdictWarn Verdict = "warn"
	VerdictFail Verdict = "fail"
)

// Check is one thing that must hold for Roundsman to work.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Found is what was seen, Fix what to do about it; empty when all is well.
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

const (
	// minServer is the oldest server with worker heartbeats and ListWorkers.
	minServer = "1.29"
	// minRetention is how long closed runs should stay readable.
	minRetention = 24 * time.Hour
	// maxSkew is the clock difference that starts to confuse people who compare
	// times of several machines.
	maxSkew = 5 * time.Second
)

// CheckServer looks at the server and the namespace alone: what must hold
// before a control plane can start.
func (c *Client) CheckServer(ctx context.Context) []Check {
	namespace, err := c.temporal.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if err != nil {
		return []Check{c.checkVersion(ctx), c.namespaceFailure(err)}
	}
	return []Check{
		c.checkVersion(ctx),
		checkRetention(c.namespace, namespace),
		checkHeartbeats(namespace),
		c.checkSearchAttributes(ctx),
		c.checkSchedules(ctx),
	}
}

// Doctor is CheckServer and what lives on it: the control plane and workers.
func (c *Client) Doctor(ctx context.Context) []Check {
	checks := c.CheckServer(ctx)
	if Failed(checks) && slices.ContainsFunc(checks, func(check Check) bool { return check.Name == "namespace" && check.Verdict == VerdictFail }) {
		return checks // Without a namespace there is nobody to ask.
	}
	checks = append(checks, c.checkStuck(ctx))
	return append(checks, c.checkControlPlane(ctx)...)
}

// Failed reports whether one of the checks found a fault.
func Failed(checks []Check) bool {
	for _, check := range checks {
		if check.Verdict == VerdictFail {
			return true
		}
	}
	return false
}

func (c *Client) checkVersion(ctx context.Context) Check {
	check := Check{Name: "server version"}
	info, err := c.temporal.WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		check.Verdict, check.Found = VerdictWarn, "unknown: "+err.Error()
		return check
	}
	check.Verdict, check.Found = VerdictOK, info.GetServerVersion()
	if olderThan(info.GetServerVersion(), minServer) {
		check.Verdict = VerdictWarn
		check.Fix = "Roundsman is developed against server 1.32; upgrade to " + minServer + " or newer"
	}
	return check
}

// olderThan compares major and minor; what cannot be read is not older.
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

func (c *Client) namespaceFailure(err error) Check {
	check := Check{Name: "namespace", Verdict: VerdictFail, Found: err.Error()}
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		check.Found = fmt.Sprintf("%q does not exist", c.namespace)
		check.Fix = fmt.Sprintf("create it: temporal operator namespace create --namespace %s --retention 72h", c.namespace)
	}
	return check
}

func checkRetention(name string, namespace *workflowservice.DescribeNamespaceResponse) Check {
	retention := namespace.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	check := Check{
		Name: "namespace", Verdict: VerdictOK,
		Found: fmt.Sprintf("%s, closed runs are kept for %s", name, jobtype.Duration(retention)),
	}
	if retention < minRetention {
		check.Verdict = VerdictWarn
		check.Fix = fmt.Sprintf("runs disappear soon after they end: temporal operator namespace update --namespace %s --retention 72h", name)
	}
	return check
}

func checkHeartbeats(namespace *workflowservice.DescribeNamespaceResponse) Check {
	if namespace.GetNamespaceInfo().GetCapabilities().GetWorkerHeartbeats() {
		return Check{Name: "worker heartbeats", Verdict: VerdictOK, Found: "supported"}
	}
	return Check{
		Name: "worker heartbeats", Verdict: VerdictFail, Found: "the server does not take worker heartbeats",
		Fix: "Roundsman judges by them which workers live; use server " + minServer + " or newer and set frontend.WorkerHeartbeatsEnabled: true in its dynamic configuration",
	}
}

func (c *Client) checkSearchAttributes(ctx context.Context) Check {
	check := Check{Name: "search attributes", Verdict: VerdictOK}
	missing, err := c.missingSearchAttributes(ctx)
	switch {
	case err != nil:
		check.Verdict, check.Found = VerdictWarn, "could not be listed: "+err.Error()
	case len(missing) > 0:
		check.Verdict, check.Found = VerdictFail, "missing: "+strings.Join(missing, ", ")
		check.Fix = "create them: " + createAttributesCommand(c.namespace, missing)
	default:
		check.Found = contract.SearchAttributeJobType + ", " + contract.SearchAttributeOutcome
	}
	return check
}

func createAttributesCommand(namespace string, names []string) string {
	command := "temporal operator search-attribute create --namespace " + namespace
	for _, name := range names {
		command += " --name " + name + " --type Keyword"
	}
	return command
}

func (c *Client) missingSearchAttributes(ctx context.Context) ([]string, error) {
	listed, err := c.temporal.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes: %w", err)
	}
	var missing []string
	for _, name := range []string{contract.SearchAttributeJobType, contract.SearchAttributeOutcome} {
		if listed.GetCustomAttributes()[name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// EnsureSearchAttributes creates the search attributes that are missing. It is
// for servers that are Roundsman's own; on others the operator is told instead
// (see [Client.CheckServer]).
func (c *Client) EnsureSearchAttributes(ctx context.Context) error {
	missing, err := c.missingSearchAttributes(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	create := map[string]enumspb.IndexedValueType{}
	for _, name := range missing {
		create[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.temporal.OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: c.namespace, SearchAttributes: create})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create search attributes %s: %w", strings.Join(missing, ", "), err)
	}
	return nil
}

func (c *Client) checkSchedules(ctx context.Context) Check {
	info, err := c.temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	switch {
	case err != nil:
		return Check{Name: "schedules", Verdict: VerdictWarn, Found: "unknown: " + err.Error()}
	case !info.GetCapabilities().GetSupportsSchedules():
		return Check{
			Name: "schedules", Verdict: VerdictFail, Found: "the server does not support Schedules",
			Fix: "every job type is a Schedule; use server " + minServer + " or newer",
		}
	}
	return Check{Name: "schedules", Verdict: VerdictOK, Found: "supported"}
}

// checkControlPlane asks the worker registry: pollers of a queue stay listed for
// five minutes after their process was killed, an answer cannot be stale.
func (c *Client) checkControlPlane(ctx context.Context) []Check {
	plane := Check{Name: "control plane", Verdict: VerdictOK, Found: "answers"}
	workers, err := c.Workers().List(ctx, contract.WorkersQueryInput{})
	if err != nil {
		plane.Verdict, plane.Found = VerdictFail, err.Error()
		plane.Fix = "start one: roundsman server"
		if down, isDown := errors.AsType[*ControlPlaneDownError](err); isDown {
			plane.Found = "CONTROL_PLANE_DOWN: " + down.What()
		}
		if gone, isGone := errors.AsType[*RegistryGoneError](err); isGone {
			plane.Found, plane.Fix = gone.What(), "wait a minute, or restart the control plane: roundsman server"
		}
		if stuck, isStuck := errors.AsType[*StuckWorkflowError](err); isStuck {
			plane.Found, plane.Fix = stuck.What(), stuck.remedy()
		}
		return []Check{plane}
	}
	c.tellVersions(ctx, &plane)
	return []Check{plane, checkWorkers(workers), checkClocks(workers)}
}

func checkWorkers(workers []contract.WorkerDetail) Check {
	online, slots := 0, 0
	var others, kept []string
	for _, worker := range workers {
		if worker.State == contract.WorkerOnline && worker.Fresh {
			online++
			slots += worker.Registration.Caps().MaxExecute
		} else {
			others = append(others, worker.Registration.ID+" "+stateOf(worker))
		}
		if worker.State == contract.WorkerDraining || worker.State == contract.WorkerCordoned {
			kept = append(kept, "roundsman workers uncordon "+worker.Registration.ID)
		}
	}
	check := Check{Name: "workers", Verdict: VerdictOK, Found: fmt.Sprintf("%d online with %d slots", online, slots)}
	if len(others) > 0 {
		check.Verdict = VerdictWarn
		check.Found += "; " + strings.Join(others, ", ")
		check.Fix = "see roundsman workers list"
	}
	if online == 0 {
		check.Verdict = VerdictFail
		remedies := append(kept[:min(len(kept), 3)], "start a worker with roundsman worker --id NAME")
		check.Fix = "nothing can be detected or executed: " + strings.Join(remedies, ", or ")
	}
	return check
}

// stateOf is the worker's state; ONLINE alone would contradict that it counts as
// nothing.
func stateOf(worker contract.WorkerDetail) string {
	if worker.State == contract.WorkerOnline && !worker.Fresh {
		return "ONLINE, but not fresh (no heartbeat for three intervals)"
	}
	return string(worker.State)
}

func checkClocks(workers []contract.WorkerDetail) Check {
	var skewed []string
	for _, worker := range workers {
		if worker.State == contract.WorkerOnline && worker.Skew.Std().Abs() > maxSkew {
			skewed = append(skewed, fmt.Sprintf("%s by %s", worker.Registration.ID, worker.Skew))
		}
	}
	if len(skewed) == 0 {
		return Check{Name: "clocks", Verdict: VerdictOK, Found: "no worker's clock is off by more than " + maxSkew.String()}
	}
	return Check{
		Name: "clocks", Verdict: VerdictWarn, Found: strings.Join(skewed, ", "),
		Fix: "synchronise the clocks (NTP): decisions are safe, but times from these workers mislead",
	}
}
