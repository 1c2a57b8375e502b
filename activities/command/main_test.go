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

func TestMain(m *testing.M) {
	if script := os.Getenv(workerScript); script != "" {
		runAsWorker(script)
	}
	goleak.VerifyTestMain(m)
}

func runAsWorker(script string) {
	settings, err := json.Marshal(shell(script))
	if err == nil {
		_, err = command.New(command.Options{}).Execute(context.Background(), jobtype.Job{Settings: settings}, &jobtypetest.Recorder{})
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
