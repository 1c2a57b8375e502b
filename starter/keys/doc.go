// Package keys keeps the API keys of a namespace where every control plane sees them:
// in the argument of a paused Schedule that is never due, access/keys. Of a key it
// keeps the SHA-256 of its secret, never the secret.
package keys
