// Package steps has the steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way.
package steps

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
)

// URL of the database, without TLS: lib/pq asks for it otherwise.
var URL = os.Getenv("DATABASE_URL") + "?sslmode=disable"

// Version prints the versions of modules that the program was built with.
func Version(modules ...string) {
	built, _ := debug.ReadBuildInfo()
	var versions []string
	for _, module := range modules {
		at := slices.IndexFunc(built.Deps, func(dep *debug.Module) bool { return dep.Path == module })
		versions = append(versions, short(module)+" "+strings.TrimPrefix(built.Deps[at].Version, "v"))
	}
	fmt.Println("version", strings.Join(versions, ", "))
}

// short is the path of a module without its host, its owner where the name says enough, and its major version.
func short(module string) string {
	parts := strings.Split(module, "/")[1:]
	if last := parts[len(parts)-1]; len(parts) > 1 && last[0] == 'v' {
		parts = parts[:len(parts)-1]
	}
	switch name := parts[len(parts)-1]; name {
	case "pq", "migrate", "postgres":
		return strings.Join(parts, "/")
	default:
		return name
	}
}

// Step runs a body, which panics where it fails.
func Step(name string, body func()) {
	defer func() {
		failure := recover()
		if failure == nil {
			fmt.Println("ok", name)
			return
		}
		message := []rune(strings.Join(strings.Fields(fmt.Sprint(failure)), " "))
		fmt.Printf("failed %s: %s %s\n", name, sqlState(failure), string(message[:min(300, len(message))]))
		fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", name, failure, debug.Stack())
	}()
	body()
}

// Check panics with an error.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Must returns a value, or panics with the error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Equal panics unless what was found is what was wanted.
func Equal(found, wanted any) {
	if !reflect.DeepEqual(found, wanted) {
		panic(fmt.Sprintf("found %#v, wanted %#v", found, wanted))
	}
}

// Refused panics unless an error has this SQLSTATE.
func Refused(err error, code string) {
	if err == nil {
		panic("not refused with " + code)
	}
	if sqlState(err) != code {
		panic(err)
	}
}

// sqlState is the SQLSTATE of an error, or of the driver's error that it wraps.
func sqlState(failure any) string {
	var coded interface{ SQLState() string }
	if err, is := failure.(error); is && errors.As(err, &coded) {
		return coded.SQLState()
	}
	return "-----"
}
