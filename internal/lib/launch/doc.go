// Package launch is the language of starting a program: it reads and checks the keys; activities/command starts
// programs by them.
package launch
