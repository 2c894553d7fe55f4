package api

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// openAPI is made by proto/openapigen.
//
//go:embed openapi.json
var openAPI []byte

//go:embed static
var static embed.FS

// pagePolicy lets a page use its own script and style and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// claimForm bounds the form of the claim page.
const claimForm = 8 << 10

// pages adds the document and the pages to the mux.
func (d *door) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		d.cors(w, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI)
	})
	for path, file := range map[string]string{"/api/docs": "docs.html", "/api/docs.js": "docs.js", "/api/pages.css": "pages.css"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			secure(w.Header())
			w.Header().Set("Content-Security-Policy", pagePolicy)
			http.ServeFileFS(w, r, static, "static/"+file)
		})
	}
	d.docs(mux)
	page := template.Must(template.ParseFS(static, "static/claim.html"))
	mux.HandleFunc("GET /claim", func(w http.ResponseWriter, r *http.Request) {
		showClaim(w, page, http.StatusOK, claimView{Code: r.URL.Query().Get("code")})
	})
	back := template.Must(template.ParseFS(static, "static/callback.html"))
	mux.HandleFunc("GET "+CallbackPath, func(w http.ResponseWriter, r *http.Request) { d.callback(w, r, back) })
	mux.HandleFunc("POST /claim", func(w http.ResponseWriter, r *http.Request) { d.claim(w, r, page) })
}

// claimView is what the claim page shows.
type claimView struct {
	// Code is the one-time code of the link.
	Code, Username string
	// Problem is why it did not work.
	Problem string
	// Done is the name of the administrator that was made.
	Done string
}

// claim makes the first administrator from the page's form. The code travels in
// the body; it is not logged, and the page's address does not carry it on.
func (d *door) claim(w http.ResponseWriter, r *http.Request, page *template.Template) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		showClaim(w, page, http.StatusForbidden, claimView{Problem: "This form was sent from another site."})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, claimForm)
	if err := r.ParseForm(); err != nil {
		showClaim(w, page, http.StatusBadRequest, claimView{Problem: "The form did not arrive completely."})
		return
	}
	v := claimView{Code: r.PostForm.Get("code"), Username: r.PostForm.Get("username")}
	if r.PostForm.Get("password") != r.PostForm.Get("again") {
		v.Problem = "The two passwords differ."
		showClaim(w, page, http.StatusBadRequest, v)
		return
	}
	if err := d.claimAdmin(r, v, r.PostForm.Get("password")); err != nil {
		e := d.public(r, claimMethod, err)
		v.Problem = e.Message
		showClaim(w, page, e.Code.Info().HTTP, v)
		return
	}
	showClaim(w, page, http.StatusOK, claimView{Done: v.Username})
}

const (
	claimMethod  = "skein.v1.AdminService/ClaimAdmin"
	logoutMethod = "skein.v1.AccountService/Logout"
)

func (d *door) claimAdmin(r *http.Request, v claimView, password string) error {
	addr := address(r, d.o.TrustedProxies)
	caller := im.Actor{Address: addr.String()}
	if q, ok := d.o.Limiter.admit(ClassCredential, caller); !ok {
		return limited(q)
	}
	payload, err := proto.Marshal(&wire.ClaimAdminRequest{Code: v.Code, Username: v.Username, Password: password})
	if err != nil {
		return im.Wrap(err, im.CodeInvalidArgument, "the form must be UTF-8")
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.o.Timeout)
	defer cancel()
	answer, err := d.ask(ctx, caller, d.methods[claimMethod], payload, "")
	if err != nil {
		return late(d.methods[claimMethod], err)
	}
	// The page keeps no session: it ends the one it was given. The administrator
	// exists by now, whatever becomes of that.
	var claimed wire.ClaimAdminResponse
	if err := proto.Unmarshal(answer, &claimed); err != nil {
		return im.Wrap(err, im.CodeInternal, "the server failed")
	}
	actor, err := d.logic.Authenticate(ctx, im.Handshake{Token: claimed.GetTokens().GetAccessToken(), Address: addr.String()})
	if err == nil {
		_, err = d.logic.Call(ctx, actor, im.Call{Method: logoutMethod})
	}
	if err != nil {
		d.o.Log.WarnContext(ctx, "session of the claim page not ended", "err", err)
	}
	return nil
}

func showClaim(w http.ResponseWriter, page *template.Template, status int, v claimView) {
	secure(w.Header())
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		http.Error(w, "the server failed", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
