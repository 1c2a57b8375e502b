// Package workers assembles what polls Temporal task queues: the node worker
// that runs handlers, and the control plane that runs workflows. One component
// per process role, built by plain constructors.
//
// A [Node] has one private execute and one private detect queue, and pulls the
// shared queue of every job type it opted into. How many jobs run at once is
// decided twice: the slot supplier decides when to poll, so that queues share
// the slots without starving each other, and the gate decides exactly, because
// several polls may bring a task at the same moment. docs/workers.md has the
// whole story.
package workers
