package arch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type listed struct {
	Dir, Name                                                    string
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
}

// Load reads the repository at root: every module, package and Go file. It needs no network.
func Load(ctx context.Context, root string) (Repo, error) {
	var repo Repo
	dirs, err := moduleDirs(root)
	if err != nil {
		return Repo{}, err
	}
	for _, rel := range dirs {
		mod, err := loadModule(ctx, root, rel)
		if err != nil {
			return Repo{}, err
		}
		repo.Modules = append(repo.Modules, mod)
		packages, err := loadPackages(ctx, root, rel)
		if err != nil {
			return Repo{}, err
		}
		repo.Packages = append(repo.Packages, packages...)
	}
	deps, err := goCommand(ctx, root, "list", "-e", "-deps", "-test", "./...")
	if err != nil {
		return Repo{}, err
	}
	repo.RootDeps = strings.Fields(string(deps))
	repo.Decisions, err = loadDecisions(root)
	return repo, err
}

func moduleDirs(root string) ([]string, error) {
	dirs := []string{"."}
	for _, pattern := range []string{"*/go.mod", "*/*/go.mod"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, filepath.ToSlash(rel))
		}
	}
	return dirs, nil
}

func loadModule(ctx context.Context, root, rel string) (GoMod, error) {
	out, err := goCommand(ctx, filepath.Join(root, rel), "mod", "edit", "-json")
	if err != nil {
		return GoMod{}, err
	}
	var parsed struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &parsed); err != nil {
		return GoMod{}, fmt.Errorf("%s/go.mod: %w", rel, err)
	}
	mod := GoMod{Rel: rel}
	for _, require := range parsed.Require {
		mod.Requires = append(mod.Requires, require.Path)
		if !require.Indirect {
			mod.Direct = append(mod.Direct, require.Path)
		}
	}
	return mod, nil
}

// -e also lists a package that does not compile.
func loadPackages(ctx context.Context, root, rel string) ([]Package, error) {
	out, err := goCommand(ctx, filepath.Join(root, rel), "list", "-e", "-json=Dir,Name,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var packages []Package
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list in %s: %w", rel, err)
		}
		p, err := parsePackage(root, l)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func parsePackage(root string, l listed) (Package, error) {
	rel, err := filepath.Rel(root, l.Dir)
	if err != nil {
		return Package{}, err
	}
	p := Package{Rel: filepath.ToSlash(rel), Name: l.Name}
	names := slices.Concat(l.GoFiles, l.CgoFiles, l.IgnoredGoFiles, l.TestGoFiles, l.XTestGoFiles)
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return Package{}, err
		}
		file, err := parseFile(name, src)
		if err != nil {
			return Package{}, err
		}
		p.Files = append(p.Files, file)
	}
	return p, nil
}

func parseFile(name string, src []byte) (File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, fmt.Errorf("%w; repair the syntax first", err)
	}
	return File{
		Name:      name,
		AST:       tree,
		Fset:      fset,
		Lines:     bytes.Count(src, []byte("\n")),
		CodeLines: codeLines(src),
	}, nil
}

// codeLines counts the lines that hold at least one token; the scanner drops comments.
func codeLines(src []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var scan scanner.Scanner
	scan.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := scan.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(literal, "\n"); line++ {
			lines[line] = true
		}
	}
}

func loadDecisions(root string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "adr", "*.md"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), nil
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, complaint.Bytes())
	}
	return out, nil
}

func packageDoc(tree *ast.File) bool {
	return tree.Doc != nil && strings.TrimSpace(tree.Doc.Text()) != ""
}
