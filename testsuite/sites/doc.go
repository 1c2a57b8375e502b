// Package sites has helpers for tests with many processes: a server with a client, and processes that the test binary
// itself plays, so that no program must be built first. Processes end with their test and with the test binary, even after
// a kill.
//
// The package's TestMain calls [Main].
package sites
