// Package bash turns the script of a `shell` key into the command line that runs it. Its values reach the
// script as variables of its environment, so no value is ever read as a part of the script.
package bash
