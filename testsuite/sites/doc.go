// Package sites has what tests with many processes share: a server, a client of it, and
// processes that the test binary itself plays, so that nothing need be built first. No
// process outlives its test, nor the test binary, however that ends.
//
// The package's TestMain calls [Main].
package sites
