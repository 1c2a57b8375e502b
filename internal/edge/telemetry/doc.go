// Package telemetry shows the state of a serving process: /healthz, /readyz and /metrics over HTTP.
//
// [Telemetry] collects the data. It is the metrics handler of the Temporal SDK. As an interceptor of the
// connection it records the polled task queues and the last answer of the server. [Server] serves the
// data. The process defines alive and ready in [Checks].
package telemetry
