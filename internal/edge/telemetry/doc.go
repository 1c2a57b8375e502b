// Package telemetry lets others see how a serving process is: /healthz, /readyz
// and /metrics over HTTP.
//
// [Telemetry] collects: it is the metrics handler of the Temporal SDK and, as an
// interceptor of the connection, knows which task queues are being polled and
// when the server last answered. [Server] shows it. The meaning of alive and ready is
// for the process to say, in [Checks].
package telemetry
