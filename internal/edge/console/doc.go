// Package console serves the web console: a program for browsers that is a client of
// the public REST API and nothing else. web/ has its source; `make web` builds it into
// assets/app, which is embedded. A binary that was built without Node.js serves a page
// that says how to get the console.
package console
