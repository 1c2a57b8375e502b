// Package guard stands before every route: it knows by which hosts and from which
// origins the server is meant to be reached, takes what a trusted proxy says, and
// removes the base path. Loopback without a log-in is not safe by itself: a page
// of a foreign site can name this host in a DNS answer of its own (rebinding), so
// the Host header is checked against a list besides the origin.
package guard
