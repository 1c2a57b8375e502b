// Package access decides the permissions of callers. It is pure.
//
// A [Permission] is a verb on a kind of thing, a [Role] a set of permissions. A [Binding] gives a role to a subject,
// a group, a key or a certificate, for everything or within a scope: globs of job types and of DAGs. Only
// [Rights.Allows] decides, also for filters of lists, search and events.
//
// A binding with globs grants nothing on things without a job type or DAG, such as workers, because they show the
// names of all job types.
package access
