// Package auth authenticates requests by an API key, a token of the OIDC issuer, a session cookie or a client
// certificate. After a wrong credential no other one is tried.
package auth
