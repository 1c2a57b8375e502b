// Package bash turns the script of a `shell` key into its command line. Values are variables of the environment,
// never a part of the script.
package bash
