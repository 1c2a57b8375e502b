// Package replay runs the current workflow code against histories recorded on the real server:
// testdata/<workflow>/v<N>-<scenario>.json.gz. `make history` records them again.
//
// Every history is replayed twice, with the workflow cache and without. A workflow whose current version has no
// history fails the test, so that a change of version cannot be forgotten.
package replay
