// Package nodee2e runs node workers as operators do, in processes of their own
// against the real server, with a handler that writes down every step it takes:
// workers are killed, frozen, drained, restarted, resized and cut off from the
// network, and what ran where, how often and how much at once is read from that
// book. The processes are this test binary in another role.
package nodee2e
