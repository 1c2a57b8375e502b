// Package explain says why something is not running, or what it waits for. It is
// pure: it composes what others say of a job type, a run, a job or a worker (the
// Schedule, the group, the registry, admission) into an ordered list of reasons,
// the one to act on first coming first. Every code is described in
// docs/explain.md, which a test keeps complete.
package explain
