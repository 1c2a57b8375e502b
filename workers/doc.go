// Package workers assembles the pollers of Temporal task queues: the node worker, which runs handlers, and the
// control plane, which runs workflows.
//
// A [Node] has private execute and detect queues, and pulls the shared queue of every job type that it opted into.
// The slot supplier decides when to poll, so that queues share the slots without starving each other. The gate is
// exact, because several polls may return a task at the same moment. See docs/workers.md.
package workers
