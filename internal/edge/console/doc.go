// Package console serves the web console, a program for browsers that uses only the public REST API. `make web`
// builds web/ into assets/app. A binary built without Node.js serves instructions.
package console
