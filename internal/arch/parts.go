package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
)

// Bounds of a type with behaviour. Above them divide it by part: each part owns its fields.
const (
	maxMethods = 60
	maxFields  = 20
	// A type with fewer methods is a record; its fields are bounded by their meaning.
	minBehaviour = 20
)

type size struct{ fields, methods int }

func partRules() []Rule {
	return []Rule{{
		Name: "large-type", Source: styleSection, Find: largeTypes,
		Fix: fmt.Sprintf("divide the type by part, each with its own fields: at most %d fields and %d methods", maxFields, maxMethods),
	}}
}

func largeTypes(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		types := p.sizes()
		for _, name := range slices.Sorted(maps.Keys(types)) {
			s := types[name]
			if s.methods >= minBehaviour && s.fields > maxFields {
				found = append(found, fmt.Sprintf("%s.%s: %d fields", p.Rel, name, s.fields))
			}
			if s.methods > maxMethods {
				found = append(found, fmt.Sprintf("%s.%s: %d methods", p.Rel, name, s.methods))
			}
		}
	}
	return found
}

func (p Package) sizes() map[string]size {
	types := map[string]size{}
	for _, f := range p.code() {
		if ast.IsGenerated(f.AST) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					name := receiver(n)
					s := types[name]
					s.methods++
					types[name] = s
				}
				return false
			case *ast.TypeSpec:
				if st, ok := n.Type.(*ast.StructType); ok {
					s := types[n.Name.Name]
					s.fields = st.Fields.NumFields()
					types[n.Name.Name] = s
				}
			}
			return true
		})
	}
	return types
}

func receiver(method *ast.FuncDecl) string {
	t := method.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
