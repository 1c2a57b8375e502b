// Package action is the closed list of operations. Command line, REST request and the button of the console are
// generated from an [Action], so they cannot differ.
package action
