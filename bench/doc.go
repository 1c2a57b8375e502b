// Command bench measures Roundsman against the bare SDK and prints one JSON
// object per line. Run it with `make bench`, or one of its measurements with
// `make bench ONLY=fanout`.
//
// A baseline is a minimal workflow on the bare SDK with the same topology: processes, queues, pollers, slots, timeouts,
// payloads and parallelism. It runs on the same server, interleaved with the measured runs. Value and baseline are
// medians. The ratio is the median of the ratios of neighbouring runs, which is robust against a drift of the machine's
// speed.
//
// A result is never a failure. bench exits 1 only if a measurement was impossible.
package main
