// Package batch renders the template of `batch: {by: …}`, the common key of the proposals of one batch.
package batch
