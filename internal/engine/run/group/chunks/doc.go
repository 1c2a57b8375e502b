// Package chunks claims the keys of the backlog of a group.
//
// Jobs with a key enter the window in chunks. Their keys are read from the pages, and claimed by one request. A chunk
// is over when its last job has ended. There is at most one chunk without an answer.
package chunks
