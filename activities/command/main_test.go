package command_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// workerRole makes the test binary play a worker that runs one job: its value is a
// part in JSON.
const workerRole = "COMMAND_TEST_WORKER"

// part is the role of a worker of a test.
type part struct {
	// Dir is the data directory; empty: none.
	Dir string `json:"dir,omitempty"`
	// Script is the program of its only job, Attempt the attempt.
	Script  string `json:"script"`
	Attempt int    `json:"attempt,omitempty"`
	// Keys are further keys of its block.
	Keys block `json:"keys,omitempty"`
	// Check makes the worker check its node instead.
	Check bool `json:"check,omitempty"`
	// Stops ends the preparation of the node after this time. The job is executed all the same.
	Stops time.Duration `json:"stops,omitempty"`
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == dyingShimArgument {
		os.Exit(playDyingShim(os.Args[2]))
	}
	if role := os.Getenv(workerRole); role != "" {
		os.Exit(playWorker(role))
	}
	goleak.VerifyTestMain(m)
}

// dyingShimArgument makes the test binary play a shim that dies after it has started the
// program and before it reports that. The next argument is the file for the process id.
const dyingShimArgument = "shim-that-dies"

func playDyingShim(path string) int {
	syscall.CloseOnExec(3) // The end of the socket is the death of the shim.
	order, buffer, mark := []byte(nil), make([]byte, 1<<12), regexp.MustCompile(`ROUNDSMAN_PROCESS_MARK=[0-9a-f]{24}`)
	for !mark.Match(order) {
		n, err := syscall.Read(3, buffer)
		if err != nil || n == 0 {
			return 2
		}
		order = append(order, buffer[:n]...)
	}
	program := exec.Command("sleep", "1000")
	program.Env = []string{string(mark.Find(order))}
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if program.Start() != nil || os.WriteFile(path, []byte(strconv.Itoa(program.Process.Pid)), 0o600) != nil {
		return 2
	}
	return 1
}

// playWorker runs the job as a worker does. SIGUSR1 cancels it, SIGUSR2 is the end of
// its time. The exit code is 1 if the job failed.
func playWorker(role string) int {
	var p part
	err := json.Unmarshal([]byte(role), &p)
	_ = os.Unsetenv(workerRole) // or it would be the part of the shim, too
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		if <-signals == syscall.SIGUSR1 {
			cancel(jobtype.ErrCanceled)
		}
		cancel(jobtype.ErrDeadline)
	}()
	program := shell(p.Script).with(block{"kill_grace": "300ms"}).with(p.Keys)
	settings, encodeErr := json.Marshal(program)
	handler := newHandler(300 * time.Millisecond)
	if p.Keys["hooks"] != nil {
		handler = command.New(command.Options{Shim: []string{"/proc/self/exe", command.ShimArgument}, EndWait: time.Minute})
	}
	if p.Check {
		if fault := handler.CheckNode(ctx, nil, settings); fault != nil {
			_, _ = os.Stderr.WriteString(fault.Error() + "\n")
			return 1
		}
		return 0
	}
	if err == nil && encodeErr == nil && p.Dir != "" {
		preparing, end := ctx, context.CancelFunc(func() {})
		if p.Stops > 0 {
			preparing, end = context.WithTimeout(ctx, p.Stops)
		}
		if left := handler.PrepareNode(preparing, "node-a", p.Dir); left != nil {
			_, _ = os.Stderr.WriteString(left.Error() + "\n") // A worker starts all the same.
		}
		end()
	}
	if err == nil {
		job := jobtype.Job{WorkerID: "node-a", GroupID: "group/g", ID: "job-1", Attempt: p.Attempt, Settings: settings}
		_, err = handler.Execute(ctx, job, &jobtypetest.Recorder{})
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// newHandler returns a handler whose programs run below shims, as those of a worker do.
func newHandler(outputGrace time.Duration) *command.Handler {
	return command.New(command.Options{Shim: []string{"/proc/self/exe", command.ShimArgument}, OutputGrace: outputGrace, EndWait: time.Second})
}
