// Package feed keeps pictures of changing data and shows them to any number of viewers. A topic is a list or a view, a
// picture its newest state, and a viewer an open event stream, such as that of a page of the console.
//
// A [Topic] has one fetcher, which sleeps without viewers. It makes one picture per permission set, so 500 viewers
// with the same rights cost as much as one. A slow viewer misses pictures and gets the newest one.
//
// A fetcher fetches at fixed intervals, and at once when [Hub.Intercept] sees that this control plane has completed a
// task of a related workflow. If the server refuses, the last picture stays, with its age. Lists and topics share a [Source].
package feed
