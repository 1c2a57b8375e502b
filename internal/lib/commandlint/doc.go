// Package commandlint finds likely mistakes in command lines and settings: literal secrets, a command line in one
// element of argv, and lost failures of pipelines. It prefers a missed mistake to a false alarm. The findings never
// have the value.
package commandlint
