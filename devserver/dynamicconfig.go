package devserver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// dynamicConfig returns the settings in which this server differs from a stock
// Temporal server. Keys are taken from the server's own constants, so a key
// that a later version renames or drops is a compile error, not a silent no-op.
func dynamicConfig() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// The queue processors read new tasks at most this often per shard, and an
		// activity step takes two reads. The stock 20/s makes a step take 100 ms.
		// 100/s allows 50 steps a second and no more: a chain of steps runs at 6 ms
		// each while the burst of 100 lasts and at 20 ms afterwards. With 200/s the
		// step stays at 5 ms, and throughput was not measurably lower.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 200,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    200,

		// Without it fairness keys on tasks are silently ignored.
		dynamicconfig.MatchingEnableFairness.Key(): true,
		// Four partitions only pay on a cluster. On one node they make priority
		// order approximate and let a poller wait on an empty partition.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// Heartbeats of whole workers: the source of ListWorkers and
		// DescribeWorker, by which Roundsman judges that a node is alive. On in
		// this version; pinned because nothing works without it.
		dynamicconfig.WorkerHeartbeatsEnabled.Key(): true,
		// Both together push the cancellation of an activity to its worker in
		// under 10 ms instead of with the activity's next heartbeat.
		dynamicconfig.WorkerCommandsEnabled.Key():             true,
		dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,

		// Long polls per namespace and API. Every Roundsman worker has private
		// queues: with the stock 1200, 102 of 1300 pollers were refused.
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): 10000,
		// The stock 10/s is reached by one browser tab next to one test.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,

		// With the stock 100, fifty or more activities that finish during one
		// workflow task make the server fail that task and send the whole history
		// again, so the cost of a task grows with the length of the history.
		dynamicconfig.MaximumBufferedEventsBatch.Key(): 2000,
		// With the stock 30/s, a thousand job types of one interval need half a
		// minute to start although the processors are idle.
		dynamicconfig.SchedulerNamespaceStartWorkflowRPS.Key(): float64(1000),
		// The stock 1 s also spaces the runs of one continue-as-new chain: 20
		// runs took 19.5 s, without it 2.6 s.
		dynamicconfig.WorkflowIdReuseMinimalInterval.Key(): time.Duration(0),
	}
}

// withDynamicConfig returns the settings of this server and over them those that
// were written as KEY=VALUE. An unknown key and a value of another type are faults.
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
