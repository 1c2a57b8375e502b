// Package telemetry shows the state of a serving process: /healthz, /readyz and /metrics over HTTP. [Telemetry] is
// the metrics handler of the SDK and an interceptor of the connection. The process defines [Checks].
package telemetry
