package devserver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// dynamicConfig takes keys from the server's constants: a renamed key is a compile error, not a silent no-op.
func dynamicConfig() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// The stock 20/s makes an activity step, of two reads, take 100 ms. With 100/s a chain of steps runs at 6 ms
		// each while the burst of 100 lasts and at 20 ms afterwards. With 200/s the step stays at 5 ms.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 200,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    200,
		// The stock 1 s allows for clocks of machines that differ, and every shorter timer takes as long. One process has one clock.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,

		// Without it fairness keys on tasks are silently ignored.
		dynamicconfig.MatchingEnableFairness.Key(): true,
		// On one node four partitions make priority order approximate and let a poller wait on an empty partition.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// Heartbeats of workers show that a node is alive. On in this version; pinned because nothing works without it.
		dynamicconfig.WorkerHeartbeatsEnabled.Key(): true,
		// Both together push a cancellation to its worker in under 10 ms instead of with the next heartbeat.
		dynamicconfig.WorkerCommandsEnabled.Key():             true,
		dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,

		// Every worker has private queues: with the stock 1200 long polls, 102 of 1300 pollers were refused.
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): 10000,
		// The stock 10/s is reached by one browser tab next to one test.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,

		// With the stock 100, fifty or more activities that finish during one workflow task fail it, and the whole
		// history is sent again.
		dynamicconfig.MaximumBufferedEventsBatch.Key(): 2000,
		// With the stock 30/s, a thousand job types of one interval need half a minute to start.
		dynamicconfig.SchedulerNamespaceStartWorkflowRPS.Key(): float64(1000),
		// The stock 1 s also spaces runs of one continue-as-new chain: 20 runs took 19.5 s, without it 2.6 s.
		dynamicconfig.WorkflowIdReuseMinimalInterval.Key(): time.Duration(0),
	}
}

// An unknown key and a value of another type are faults.
func withDynamicConfig(written []string) (dynamicconfig.StaticClient, error) {
	settings := dynamicConfig()
	var faults []error
	for _, setting := range written {
		key, value, found := strings.Cut(setting, "=")
		if !found || key == "" {
			faults = append(faults, fmt.Errorf("--dynamic-config-value %s: write KEY=VALUE", setting))
			continue
		}
		var read dynamicconfig.YamlLoader
		read.LoadValue(dynamicconfig.MakeKey(key), []byte("- value: "+value))
		if err := errors.Join(append(read.Errors, read.Warnings...)...); err != nil {
			faults = append(faults, fmt.Errorf("--dynamic-config-value %s: %w", setting, err))
			continue
		}
		for known, values := range read.Map {
			settings[known] = values
		}
	}
	return settings, errors.Join(faults...)
}

func (o Options) validateDynamicConfig() error {
	_, err := withDynamicConfig(o.DynamicConfig)
	return err
}
