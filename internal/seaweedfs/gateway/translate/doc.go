// Package translate turns the messages of a `weed worker` into Roundsman's data and
// back: config forms into JSON Schema, runtime defaults into a policy, proposals
// into proposals, results into results. It is pure: no clock, no I/O.
//
// The proposal of a worker is opaque. The whole of it travels inside
// [jobtype.Proposal.Params], compressed, and comes back byte by byte in the job. See
// [Packer] for its bounds.
package translate
