// Package testsuite runs the real Temporal server of Roundsman's development binary for tests. It can kill the
// server and restart it on the same port and file.
//
// A test needs only [StartServer]. A package whose tests share one server starts it in TestMain with [Launch].
// Servers listen on loopback only and end with the test process, even after a kill.
package testsuite
