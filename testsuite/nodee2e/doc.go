// Package nodee2e runs node workers as operators do, in processes of their own against the real server. Workers are
// killed, frozen, drained, restarted, resized and cut off from the network. Their handler writes every step into a book,
// from which the tests read the place, time and number of executions. The processes are this test binary in another role.
package nodee2e
