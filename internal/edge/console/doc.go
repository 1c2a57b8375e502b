// Package console serves the web console, a program for browsers that uses only the public REST API. web/
// has its source. `make web` builds it into assets/app, which is embedded. A binary built without Node.js
// serves a page with instructions.
package console
