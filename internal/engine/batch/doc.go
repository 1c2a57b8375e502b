// Package batch renders the template of `batch: {by: …}`: what the proposals
// of one batch have in common.
package batch
