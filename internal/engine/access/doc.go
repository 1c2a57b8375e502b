// Package access decides who may do what. It is pure: it holds no clock, no I/O
// and no identity provider.
//
// A [Permission] is a verb on a kind of thing. A [Role] is a set of permissions. A
// [Binding] gives a role to a subject, a group, a key or a certificate, for
// everything or within a scope: globs of job types and of DAGs. [Policy.Rights]
// collects the rights of one subject, and [Rights.Allows] is the one function
// that decides; lists, search and events are filtered by it too.
//
// A binding with globs grants nothing on things that belong to no job type and no
// DAG, such as workers, lanes and keys: those show the names of all job types.
package access
