// Package idempotency remembers requests with a key, and refuses a key that was used for another request.
package idempotency
