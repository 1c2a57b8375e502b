// Package api is the REST interface of the control plane, /api/v1: operations over package starter, with an OpenAPI
// document from the same code.
//
// Every [Operation] has its permission, checked before the request is read, and again for the thing named in it.
// Bodies are the same as with --output json. Other packages add operations through [Options.Extra].
package api
