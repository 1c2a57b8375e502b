// Package keys stores the API keys of a namespace in the argument of access/keys, a paused Schedule that is never
// due: the SHA-256 of a secret, never the secret.
package keys
