// Package api is the REST interface of the control plane, /api/v1: operations over
// package starter, described by an OpenAPI document that is made of the same code.
//
// Every operation is declared by an [Operation], which names the permission that it
// needs, and added with [Add]. The permission is checked before anything of the
// request is read, and again for the thing that the request names. Bodies are what
// the commands print with --output json.
//
// Other packages add operations by [Options.Extra], and serve pages at paths
// outside /api by [Options.Pages].
package api
