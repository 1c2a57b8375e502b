// Package keys stores the API keys of a namespace for all control planes: in the argument of access/keys,
// a paused Schedule that is never due. It stores the SHA-256 of a secret, never the secret.
package keys
