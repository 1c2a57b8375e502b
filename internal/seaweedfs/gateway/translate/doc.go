// Package translate converts the messages of a `weed worker` to Roundsman's data and back. It is pure.
//
// A worker's proposal is opaque: [jobtype.Proposal.Params] contains it compressed, and the job returns it unchanged.
// See [Packer].
package translate
