// Package ref reads the references that people type: names, runs, items, dedupe keys and things by kind.
// It is pure. Package starter/refs resolves a reference on a server.
package ref
