// Package auth finds out who sends a request: by an API key, a token of the OIDC
// issuer, a session cookie or a client's certificate. It decides nothing: what
// somebody may do is package access's.
//
// A credential that is wrong never falls through to another one, or to nobody.
package auth
