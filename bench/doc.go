// Command bench measures Roundsman against the bare SDK and prints one JSON
// object per line. Run it with `make bench`, or one of its measurements with
// `make bench ONLY=fanout`.
//
// A baseline is a minimal workflow on the bare SDK with the same topology:
// processes, queues, pollers, slots, timeouts, payloads and parallelism, on the
// same server in the same run, interleaved with what it is compared to. Value
// and baseline are medians; the ratio is the median of the ratios of
// neighbouring runs, which holds when the speed of the machine drifts.
//
// A measurement never fails a test run: what comes out is printed, whatever it
// is. bench exits 1 only if something could not be measured.
package main
