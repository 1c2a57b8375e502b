// Package translate converts the messages of a `weed worker` to Roundsman's data and back:
// config forms to JSON Schema, runtime defaults to a policy, proposals and results. It is pure:
// no clock, no I/O.
//
// A worker's proposal is opaque. [jobtype.Proposal.Params] contains it whole and compressed, and
// the job returns it unchanged. See [Packer] for its bounds.
package translate
