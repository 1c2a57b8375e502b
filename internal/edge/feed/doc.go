// Package feed keeps pictures of changing data and shows them to any number of viewers.
//
// A [Topic] has one fetcher, which sleeps while nobody views the topic. It makes one
// picture for each permission set that has viewers, so 500 viewers with the same
// rights cost what one costs. A picture is serialised once. A viewer that is slow
// misses pictures in between and gets the newest.
//
// A fetcher looks at fixed intervals, and at once when [Hub.Intercept] sees that the
// own control plane has completed a task of a workflow that concerns the topic. If
// the server refuses, the last picture stays and the viewers get its age.
//
// A [Source] is common to lists and topics: one fetch serves all requests within a second.
package feed
