// Command testrun runs go test for the Makefile. It prints the output of go test and adds five things. End-to-end packages
// (-ends) run last. Only packages that can race run with the race detector (-race). A failed end-to-end test runs once more,
// alone; of a test with independent subtests (-apart) only the failed ones do. Tests that pass only then are listed as FLAKY.
// A step begins while few packages of the step before are left (-overlap). The time of each package goes to a report that .ci/run turns into a table.
//
//	testrun [FLAGS] -packages "LIST" -- FLAGS OF GO TEST
//	testrun -h
//
// Only a test that ended by itself runs again. A panic, a timeout, a failed build and a failed TestMain are final: they hide
// which tests never ran, and a second run of single tests would not repeat them. docs/adr/0071-tests-in-ci.md has the
// reasons and the alternatives.
package main
