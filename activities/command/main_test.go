package command_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// workerScript makes the test binary play a worker that runs this script as
// its only job.
const workerScript = "COMMAND_TEST_WORKER_SCRIPT"

// workerDir is the data directory of that worker, if it has one.
const workerDir = "COMMAND_TEST_WORKER_DIR"

func TestMain(m *testing.M) {
	if script := os.Getenv(workerScript); script != "" {
		runAsWorker(script)
	}
	goleak.VerifyTestMain(m)
}

func runAsWorker(script string) {
	program := shell(script)
	program["kill_grace"] = "300ms"
	settings, err := json.Marshal(program)
	handler := command.New(command.Options{})
	if dir := os.Getenv(workerDir); err == nil && dir != "" {
		err = handler.PrepareNode(context.Background(), "node-a", dir)
	}
	if err == nil {
		_, err = handler.Execute(context.Background(), jobtype.Job{WorkerID: "node-a", Settings: settings}, &jobtypetest.Recorder{})
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
