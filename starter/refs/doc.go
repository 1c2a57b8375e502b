// Package refs finds the run or item of a reference on a server. Command line, API and explanations use it, so
// each accepts the same forms; package ref reads them.
package refs
