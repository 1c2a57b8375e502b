// Package commandlint finds likely mistakes in the command lines and settings of a document: literal
// secrets, a command line in one element of argv, and pipelines whose first failure is lost.
//
// It prefers a missed mistake to a false alarm. A value with a variable or a template is no literal.
// The findings carry a code and the name of the setting, never the value.
package commandlint
