package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is one package as `go list -json` prints it.
type listed struct {
	ImportPath, Dir                              string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports           []string
}

// concurrent are the imports by which a package starts goroutines or expects them: of the standard library, and of
// modules that run code of their caller in goroutines. A slash at the end stands for all below.
var concurrent = []string{ //nolint:gochecknoglobals // constant table
	"os/exec", "os/signal", "net/http", "net/http/", "testing/synctest", "unsafe",
	"go.temporal.io/sdk/client", "go.temporal.io/sdk/worker", "go.temporal.io/sdk/testsuite", "go.temporal.io/sdk/interceptor",
	"golang.org/x/sync/", "google.golang.org/grpc", "go.uber.org/fx", "github.com/prometheus/client_golang/",
}

// begun are the methods by which a process runs next to the test. One that is awaited shares nothing with it.
var begun = []string{"Start", "Cancel", "StdinPipe", "StdoutPipe", "StderrPipe"} //nolint:gochecknoglobals // constant table

// guards are imports that make a package racy, but not the packages that link it: its shared values are guarded.
var guards = []string{"sync", "sync/atomic", "net"} //nolint:gochecknoglobals // constant table

// harmless are the names of these imports that share nothing.
var harmless = []string{"net.SplitHostPort", "net.JoinHostPort", "net.ParseIP", "sync.OnceValue", "sync.OnceValues", "sync.OnceFunc"} //nolint:gochecknoglobals // constant table

// racy returns the packages in which tests can race, with the reason. The other packages are pure. Neither a pure package nor a
// package of this module that it links starts a goroutine, has a channel, imports one of the packages above or writes a
// package variable by name. A method that changes such a variable, and a local variable shared by parallel subtests, are not
// found: `make race` covers all packages. A linked package may guard its values: it has tests of its own.
func racy(packages []listed) (map[string]string, error) {
	known, linked, found := map[string]listed{}, map[string]string{}, map[string]string{}
	for _, p := range packages {
		known[p.ImportPath] = p
		var err error
		if linked[p.ImportPath], err = reason(p.Dir, slices.Concat(p.GoFiles, p.CgoFiles), concurrent); err != nil {
			return nil, err
		}
	}
	for _, p := range packages {
		why, err := reason(p.Dir, slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles), slices.Concat(concurrent, guards))
		if err != nil {
			return nil, err
		}
		seen, open := map[string]bool{}, slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		for ; len(open) > 0 && why == ""; open = open[1:] {
			path := open[0]
			if seen[path] {
				continue
			}
			seen[path] = true
			open = append(open, known[path].Imports...)
			if linked[path] != "" {
				why = path + ": " + linked[path]
			}
		}
		if why != "" {
			found[p.ImportPath] = why
		}
	}
	return found, nil
}

// reason returns the first cause of a race in the files of a package, or nothing. Files of one package are read together: a variable that
// one of them declares may be written in another.
func reason(dir string, names, refused []string) (string, error) {
	files := make([]*ast.File, 0, len(names))
	variables := map[string]bool{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, 0)
		if err != nil {
			return "", err
		}
		files = append(files, file)
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
				for _, spec := range d.Specs {
					if values, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range values.Names {
							variables[name.Name] = true
						}
					}
				}
			}
		}
	}
	for i, file := range files {
		if why := inFile(file, variables, refused); why != "" {
			return names[i] + " has " + why, nil
		}
	}
	return "", nil
}

func inFile(file *ast.File, variables map[string]bool, refused []string) (why string) {
	var imports []string
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if !slices.ContainsFunc(refused, func(r string) bool { return path == r || strings.HasSuffix(r, "/") && strings.HasPrefix(path, r) }) {
			continue
		}
		if spec.Name != nil || path != "sync" && path != "net" && path != "os/exec" {
			return path
		}
		imports = append(imports, path)
	}
	written := func(e ast.Expr) {
		if name := root(e); name != nil && variables[name.Name] {
			why = "a variable that is written: " + name.Name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			why = "a goroutine"
		case *ast.ChanType:
			why = "a channel"
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					written(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				written(n.Key)
				written(n.Value)
			}
		case *ast.IncDecStmt:
			written(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				written(n.X)
			}
		case *ast.CallExpr:
			// These write their first argument.
			if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "delete" || name.Name == "clear" || name.Name == "copy") && len(n.Args) > 0 {
				written(n.Args[0])
			}
		case *ast.SelectorExpr:
			if slices.Contains(imports, "os/exec") && slices.Contains(begun, n.Sel.Name) {
				why = "os/exec with " + n.Sel.Name
			}
			name, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			full := name.Name + "." + n.Sel.Name
			if slices.Contains(imports, name.Name) && !slices.Contains(harmless, full) || full == "time.AfterFunc" || full == "context.AfterFunc" {
				why = full
			}
		}
		return why == ""
	})
	return why
}

// root is the variable at the left end of an expression such as v.field[i].
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// list lists packages of a module.
func list(ctx context.Context, goCommand, dir string, patterns ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, goCommand, append([]string{"list", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"}, patterns...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list in %s: %s", dir, status.Stderr)
	} else if err != nil {
		return nil, err
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}
