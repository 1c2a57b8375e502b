package devserver

import (
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

		// `temporal workflow pause` and the Web UI's pause button.
		dynamicconfig.WorkflowPauseEnabled.Key(): true,
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
		// The stock 10/s is reached by one browser tab beside one test.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,

		// With the stock 100, fifty or more activities that finish during one
		// workflow task make the server fail that task and send the whole history
		// again, so the cost of a task grows with the length of the history.
		dynamicconfig.MaximumBufferedEventsBatch.Key(): 2000,
		// The stock 1 s also spaces the runs of one continue-as-new chain: 20
		// runs took 19.5 s, without it 2.6 s.
		dynamicconfig.WorkflowIdReuseMinimalInterval.Key(): time.Duration(0),
	}
}
