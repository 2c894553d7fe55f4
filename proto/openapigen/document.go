package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const about = `Every method is a POST with a JSON body (the canonical proto3 JSON mapping: 64-bit integers are strings, bytes are base64) ` +
	`or, with Content-Type application/proto, with the protobuf encoding of the same message; the answer comes in the same form. ` +
	`Fields that are absent have their default value; unknown fields are ignored. ` +
	`Errors have the body {"code", "codeNumber", "message", "field", "retryAfterMs"}; the range of the number tells what to do, the message is for people. ` +
	`The same methods can be called over the long connection with Call frames.`

// document builds the OpenAPI document.
func document(files *protoregistry.Files, methods []api.Method, x examples) (object, error) {
	file, err := files.FindFileByPath("skein/v1/services.proto")
	if err != nil {
		return nil, err
	}
	failure, err := files.FindDescriptorByName("skein.v1.Error")
	if err != nil {
		return nil, err
	}
	table := make(map[string]api.Method, len(methods))
	for _, m := range methods {
		table[m.Name] = m
	}
	s := &schemas{seen: make(map[string]bool)}
	var tags []object
	var paths object
	services := file.Services()
	for i := range services.Len() {
		sd := services.Get(i)
		tags = append(tags, object{}.set("name", string(sd.Name())).set("description", comment(sd)))
		for j := range sd.Methods().Len() {
			md := sd.Methods().Get(j)
			name := string(sd.FullName()) + "/" + string(md.Name())
			m, ok := table[name]
			if !ok {
				return nil, fmt.Errorf("%s has no row in internal/api/table.go", name)
			}
			paths = paths.set("/api/"+name, object{}.set("post", operation(md, m, s, x)))
		}
	}
	s.message(failure.(protoreflect.MessageDescriptor))
	return object{}.
		set("openapi", "3.1.0").
		set("info", object{}.
			set("title", "Skein API").
			set("version", "1").
			set("summary", "The API of a Skein server: accounts, people, contacts, groups, messages.").
			set("description", about).
			set("license", object{}.set("name", "Apache-2.0").set("identifier", "Apache-2.0"))).
		set("servers", []object{object{}.set("url", "/")}).
		set("tags", tags).
		set("paths", paths).
		set("components", object{}.
			set("securitySchemes", object{}.set("bearer", object{}.
				set("type", "http").set("scheme", "bearer").
				set("description", "An access token of a session (Login, Register, Refresh, MintToken) or, for AdminService, the admin key."))).
			set("parameters", object{}.set(api.IdempotencyHeader, idempotencyKey(x.key()))).
			set("headers", headers()).
			set("responses", object{}.set("Error", errorResponse())).
			set("schemas", s.out)), nil
}

func operation(md protoreflect.MethodDescriptor, m api.Method, s *schemas, x examples) object {
	description := comment(md)
	name := strings.TrimPrefix(m.Name, "skein.v1.")
	op := object{}.
		set("operationId", string(md.Parent().Name())+"_"+string(md.Name())).
		set("tags", []string{string(md.Parent().Name())}).
		set("summary", string(md.Name()))
	op = op.set("description", strings.TrimSpace(description+"\n\n"+callers(m)))
	security := []object{object{}.set("bearer", []string{})}
	if m.Who == api.Anyone {
		security = []object{}
	}
	s.message(md.Input())
	s.message(md.Output())
	answers := object{}.
		set("200", object{}.
			set("description", "Done.").
			set("headers", object{}.
				set("RateLimit-Limit", ref("headers", "RateLimit-Limit")).
				set("RateLimit-Remaining", ref("headers", "RateLimit-Remaining")).
				set("RateLimit-Reset", ref("headers", "RateLimit-Reset"))).
			set("content", bodies(md.Output(), x.answers(name, http.StatusOK))))
	for _, f := range failures(m) {
		answers = answers.set(strconv.Itoa(f.status), object{}.
			set("description", f.description).
			set("headers", object{}.set("Retry-After", ref("headers", "Retry-After"))).
			set("content", object{}.set("application/json", shown(ref("schemas", "Error"), x.answers(name, f.status)))).
			set("x-skein-codes", f.codes))
	}
	op = op.
		set("security", security).
		set("x-skein-who", m.Who.String()).
		set("x-skein-rate-class", string(m.Class)).
		set("x-skein-max-bytes", m.MaxBytes).
		set("x-skein-repeat", m.Repeat.String())
	if m.Repeat != wire.RepeatReads {
		op = op.set("parameters", []object{ref("parameters", api.IdempotencyHeader)})
	}
	return op.
		set("requestBody", object{}.
			set("required", true).
			set("content", bodies(md.Input(), x.requests(name)))).
		set("responses", answers.set("default", ref("responses", "Error")))
}

// failure is an HTTP status that a method may be answered with.
type failure struct {
	status      int
	codes       []string
	description string
}

// failures groups the codes of a method by their statuses.
func failures(m api.Method) []failure {
	byStatus := make(map[int]*failure)
	for _, c := range m.Failures() {
		f := byStatus[c.HTTP]
		if f == nil {
			f = &failure{status: c.HTTP}
			byStatus[c.HTTP] = f
		}
		f.codes = append(f.codes, string(c.Code))
	}
	var all []failure
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		f := byStatus[status]
		f.description = "`" + strings.Join(f.codes, "`, `") + "`"
		all = append(all, *f)
	}
	return all
}

// callers says in words who may call a method and how much.
func callers(m api.Method) string {
	who := map[api.Who]string{
		api.Anyone: "Needs no token.",
		api.Known:  "For users and the admin key.",
		api.User:   "For users.",

		api.Staff:      "For users with a role on this server, and the admin key.",
		api.Auditors:   "For auditors, admins, owners, and the admin key.",
		api.Moderators: "For moderators, admins, owners, and the admin key.",
		api.Admins:     "For admins, owners, and the admin key.",
		api.Owners:     "For owners, and the admin key.",
	}[m.Who]
	repeat := map[wire.Repeat]string{
		wire.RepeatReads: "Changes nothing: repeat it as you like.",
		wire.RepeatSame:  "Repeating it does the same again; it needs no idempotency key.",
		wire.RepeatKey:   "With an `" + api.IdempotencyHeader + "` a repeat gets the first answer and is not carried out again.",
	}[m.Repeat]
	return fmt.Sprintf("%s %s Rate class `%s`. A request has at most %d bytes as protobuf.", who, repeat, m.Class, m.MaxBytes)
}

// shown is a schema with its examples.
func shown(schema, examples object) object {
	o := object{}.set("schema", schema)
	if examples != nil {
		o = o.set("examples", examples)
	}
	return o
}

func bodies(d protoreflect.MessageDescriptor, examples object) object {
	return object{}.
		set("application/json", shown(ref("schemas", string(d.Name())), examples)).
		set("application/proto", object{}.set("schema", object{}.
			set("type", "string").
			set("contentMediaType", "application/proto").
			set("description", "The protobuf encoding of "+string(d.FullName())+".")))
}

// idempotencyKey is the header that methods which change something take.
func idempotencyKey(example string) object {
	return object{}.
		set("name", api.IdempotencyHeader).
		set("in", "header").
		set("description", "Names this request, so that it can be repeated when its answer was lost: a random text, such as a UUID, made anew for each request and sent again with its repeats. "+
			"For 24 hours a repeat by the same caller gets the first answer and changes nothing; of a user the newest 1,000 are kept. With another request: `id_conflict`. While the first is under way: `unavailable`. "+
			"A refusal of the *fix* range, `rate_limited` and `overloaded` free the key. A Call frame has it in `idempotencyKey`. SPEC §8.").
		set("schema", object{}.set("type", "string").set("pattern", api.KeyPattern)).
		set("example", example)
}

func headers() object {
	number := func(description string) object {
		return object{}.set("description", description).set("schema", object{}.set("type", "integer").set("minimum", 0))
	}
	return object{}.
		set("RateLimit-Limit", number("How many requests of this rate class may come at once.")).
		set("RateLimit-Remaining", number("How many of them are left now.")).
		set("RateLimit-Reset", number("Seconds until all of them are back.")).
		set("Retry-After", number("Seconds to wait before trying again."))
}

func errorResponse() object {
	statuses := make(map[int][]string)
	for _, c := range im.Codes() {
		statuses[c.HTTP] = append(statuses[c.HTTP], "`"+string(c.Code)+"`")
	}
	var numbers []int
	for n := range statuses {
		numbers = append(numbers, n)
	}
	sort.Ints(numbers)
	var b strings.Builder
	b.WriteString("It was not done. The status follows from the code:\n")
	for _, n := range numbers {
		fmt.Fprintf(&b, "\n- %d: %s", n, strings.Join(statuses[n], ", "))
	}
	b.WriteString("\n- 405: `unimplemented`, for anything but POST")
	return object{}.
		set("description", b.String()).
		set("headers", object{}.set("Retry-After", ref("headers", "Retry-After"))).
		set("content", object{}.set("application/json", object{}.set("schema", ref("schemas", "Error"))))
}

func ref(kind, name string) object {
	return object{}.set("$ref", "#/components/"+kind+"/"+name)
}

// comment returns a descriptor's leading comment as plain text: its own lines
// are joined, paragraphs stay.
func comment(d protoreflect.Descriptor) string {
	text := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	var paragraphs []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
