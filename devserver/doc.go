// Package devserver embeds a complete Temporal server and its Web UI in one process, for development, tests and small
// single-node installations.
// All listens on 127.0.0.1 only. State is in memory, in one SQLite file, or in PostgreSQL. A client can use the
// server as soon as [Start] returns.
//
// The package is a module of its own because the server pulls in several hundred modules that no worker node should
// carry. It imports nothing else of Roundsman; see [Ready].
package devserver
