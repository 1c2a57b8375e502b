// Package idempotency remembers requests that carry a key, so that a request under a key that
// was used for another one is refused.
package idempotency
