// Package tally counts the proposals and the jobs of a group, with the reasons of held and disabled ones.
package tally
