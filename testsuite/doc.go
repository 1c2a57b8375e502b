// Package testsuite is for tests only: it runs the real Temporal server that
// Roundsman ships for development, kills it, and starts it again on the same
// port and file.
//
// A test needs nothing but [StartServer]. A package whose tests share one
// server starts it in TestMain with [Launch]. Servers listen on loopback only
// and end with the test process, however that ends.
package testsuite
