// Package feed keeps pictures of changing data and shows them to any number of viewers.
//
// A [Topic] has one fetcher, which sleeps without viewers. It makes one picture per permission set, so 500 viewers
// with the same rights cost as much as one. A slow viewer misses pictures and gets the newest one.
//
// A fetcher fetches at fixed intervals, and at once when [Hub.Intercept] sees that this control plane has completed a
// task of a related workflow. If the server refuses, the last picture stays, with its age. Lists and topics share a [Source].
package feed
