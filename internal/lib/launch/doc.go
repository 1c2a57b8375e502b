// Package launch is the language of starting a program: the keys that `execute`, `detect`, the tasks of
// DAGs and the receivers of notifications share. It reads and checks them; activities/command starts
// programs by them.
package launch
