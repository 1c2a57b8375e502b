// Package ref reads the references that people type. It is pure. Package starter/refs resolves them on a server.
package ref
