// Package api is the REST interface of the control plane, /api/v1: operations over package
// starter, with an OpenAPI document generated from the same code.
//
// Every operation is declared as an [Operation] with its permission, and added with [Add]. The
// permission is checked before the request is read, and again for the thing named in it. Bodies
// are the same as with --output json.
//
// Other packages add operations through [Options.Extra], and pages outside /api through
// [Options.Pages].
package api
