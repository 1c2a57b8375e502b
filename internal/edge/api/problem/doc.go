// Package problem says why a request failed, as RFC 9457 wants it: with a code to
// branch on, a remedy to show, whether a repeat can help, and the place of every
// fault in what was sent. [From] knows the errors of package starter.
package problem
