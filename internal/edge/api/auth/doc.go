// Package auth authenticates requests by an API key, a token of the OIDC issuer, a session cookie or a
// client certificate. Package access decides on permissions.
//
// After a wrong credential no other one is tried, and the caller is refused.
package auth
