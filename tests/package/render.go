// Stands in for Warewulf, which Debian has no package of: renders a template of an overlay, with Go's own text/template, as Warewulf's documentation says.
// render TEMPLATE NODE: NODE is a node's data in JSON, such as {"Resources": {"berth": {}}}. Status 3: the template says "abort", which makes no file.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/template"
)

var errAbort = errors.New("abort")

type node struct {
	Id        string
	Resources map[string]interface{}
	Tags      map[string]string
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "render:", err)
	os.Exit(status)
}

func main() {
	var data node
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(1, err)
	}
	if err = json.Unmarshal([]byte(os.Args[2]), &data); err != nil {
		fail(1, err)
	}
	abort := func() (string, error) { return "", errAbort }
	page, err := template.New(os.Args[1]).Funcs(template.FuncMap{"abort": abort}).Parse(string(text))
	if err != nil {
		fail(1, err)
	}
	var out bytes.Buffer
	if err = page.Execute(&out, data); errors.Is(err, errAbort) {
		os.Exit(3)
	} else if err != nil {
		fail(1, err)
	}
	os.Stdout.Write(out.Bytes())
}
