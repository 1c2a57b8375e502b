// Package devserver embeds a complete Temporal server and its Web UI in one process, for development, tests and small
// single-node installations.
//
// One process serves the four Temporal services and the Web UI, all of them on 127.0.0.1 only. State is in memory, in
// one SQLite file, or in PostgreSQL. The server has the dynamic configuration, the namespace and the search attributes
// that Roundsman needs. A client can use it as soon as [Start] returns.
//
// The package is a module of its own because the server pulls in several hundred modules that no worker node should
// carry. It imports nothing else of Roundsman. The two communicate by gRPC, the ready line and the ready file
// (see [Ready]).
package devserver
