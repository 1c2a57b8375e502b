package fleete2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/activities/fleet"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workflows"
)

// roleEnv makes the test binary a child process: "node ID INSTANCE ADDRESS" or
// "control scaled|default ADDRESS".
const roleEnv = "ROUNDSMAN_FLEETE2E"

const interval = time.Second

func TestMain(m *testing.M) {
	role := strings.Fields(os.Getenv(roleEnv))
	if len(role) == 0 {
		os.Exit(m.Run())
	}
	if err := play(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play is a child process. It ends with its standard input, so that no child outlives the tests.
func play(role []string) error {
	c, err := dial(role[len(role)-1])
	if err != nil {
		return err
	}
	switch role[0] {
	case "node":
		err = startNode(c, role[1], role[2])
	case "control":
		config := contract.FleetConfig{}
		if role[1] == "scaled" {
			config = scaled()
		}
		err = startControl(c, config)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func dial(address string) (client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return client.DialContext(ctx, starter.Options{Address: address, HeartbeatInterval: interval}.WithDefaults().ClientOptions())
}

// scaled are thresholds in seconds instead of minutes and hours.
func scaled() contract.FleetConfig {
	seconds := func(n int) jobtype.Duration { return jobtype.Duration(time.Duration(n) * time.Second) }
	return contract.FleetConfig{HeartbeatInterval: seconds(1), UnreachableAfter: seconds(6), OfflineAfter: seconds(20), DeleteAfter: seconds(30)}
}

func startControl(c client.Client, config contract.FleetConfig) error {
	w := worker.New(c, contract.ControlQueue, worker.Options{WorkerStopTimeout: 5 * time.Second})
	activities := control.New(c, config)
	workflows.Register(w)
	control.Register(w, activities)
	fleet.Register(w, fleet.NewObserver(c.WorkflowService(), testsuite.DefaultNamespace, fleet.Fixed(config)))
	if err := w.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := activities.Configure(ctx); err != nil {
		return err
	}
	go activities.Keep(context.Background(), testsuite.Quiet())
	return nil
}

func registration(id, instance string) contract.WorkerRegistration {
	return contract.WorkerRegistration{
		ID: id, Instance: instance, Host: "test", PID: os.Getpid(), MaxDetect: 1, MaxExecute: 2,
		Capabilities: []contract.Capability{{Handler: "noop", Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: "noop"}}},
	}
}

// register repeats until there is an answer, as a worker does: the server drops an update that arrives while
// the registry continues as new.
func register(ctx context.Context, c client.Client, r contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
	for {
		verdict, err := registerOnce(ctx, c, r)
		if _, dropped := errors.AsType[*serviceerror.WorkflowNotReady](err); !dropped || ctx.Err() != nil {
			return verdict, err
		}
	}
}

func registerOnce(ctx context.Context, c client.Client, r contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
	var verdict contract.RegisterWorkerResult
	start := c.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: contract.FleetWorkflowID, TaskQueue: contract.ControlQueue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, contract.FleetWorkflow, contract.FleetInput{})
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions:          client.UpdateWorkflowOptions{UpdateName: contract.UpdateRegisterWorker, Args: []any{r}, WaitForStage: client.WorkflowUpdateStageCompleted},
	})
	if err == nil {
		err = handle.Get(ctx, &verdict)
	}
	return verdict, err
}

// startNode is a minimal worker for the registry: registration and heartbeats of two queues. If the registry
// lacks it, it registers again.
func startNode(c client.Client, id, instance string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	verdict, err := register(ctx, c, registration(id, instance))
	if err != nil {
		return err
	}
	if !verdict.Accepted {
		return fmt.Errorf("refused: %+v", *verdict.Refused)
	}
	for _, queue := range []string{contract.WorkerQueue(id, instance), contract.WorkerDetectQueue(id, instance)} {
		w := worker.New(c, queue, worker.Options{DisableWorkflowWorker: true})
		w.RegisterActivity(func(context.Context) error { return nil })
		if err := w.Start(); err != nil {
			return err
		}
	}
	go stayKnown(c, id, instance)
	return nil
}

func stayKnown(c client.Client, id, instance string) {
	for range time.Tick(interval) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		response, err := c.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: contract.FleetWorkflowID, QueryType: contract.QueryKnown, Args: []any{contract.KnownInput{ID: id, Instance: instance}},
			QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
		})
		known := true
		if err == nil && (response.QueryRejected != nil || (response.QueryResult.Get(&known) == nil && !known)) {
			_, err = register(ctx, c, registration(id, instance))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "still known?", err)
		}
		cancel()
	}
}

// child is a started process of the test binary.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func spawn(t *testing.T, role ...string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := &child{t: t, cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), roleEnv+"="+strings.Join(role, " "))
	var log strings.Builder
	c.cmd.Stderr = &log
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(stdout, ready)
	if err != nil {
		_ = c.cmd.Wait()
		t.Fatalf("%v did not start: %s", role, log.String())
	}
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("%v said:\n%s", role, log.String())
		}
	})
	return c
}

// kill is kill -9; a repeat does nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *child) signal(s syscall.Signal) { require.NoError(c.t, c.cmd.Process.Signal(s)) }

func testConverter() converter.DataConverter { return starter.DataConverter() }
