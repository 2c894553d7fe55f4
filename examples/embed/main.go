// Command embed is a shop with a chat on its page, as server.mjs is, in Go:
//
//	SKEIN=https://chat.example ADMIN_KEY=skk_… AGENT=<user id> go run ./examples/embed
//
// The page of a visitor gets a token for that visitor, and for nothing else. The
// admin key never leaves this program.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
)

//go:embed shop
var shop embed.FS

type backend struct{ skein, adminKey, agent string }

func main() {
	b := backend{cmp.Or(os.Getenv("SKEIN"), "http://127.0.0.1:8080"), os.Getenv("ADMIN_KEY"), os.Getenv("AGENT")}
	address := "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "3000")
	log.Println("http://" + address)
	log.Fatal(http.ListenAndServe(address, b.handler()))
}

// admin calls a method of the admin API. What exists already is as it should be.
func (b backend) admin(ctx context.Context, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.skein+"/api/skein.v1.AdminService/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.adminKey)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusConflict {
		return fmt.Errorf("%s: %s", method, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// visitor tells whose page it is. A shop knows its customers by their login; this
// one gives each browser a number of its own.
func visitor(r *http.Request) string {
	if c, err := r.Cookie("visitor"); err == nil && regexp.MustCompile(`^[A-Za-z0-9]{20,40}$`).MatchString(c.Value) {
		return c.Value
	}
	return ""
}

func (b backend) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat-token", b.token)
	mux.HandleFunc("GET /shop.css", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, shop, "shop/shop.css") })
	mux.HandleFunc("GET /{$}", b.page)
	return mux
}

func (b backend) token(w http.ResponseWriter, r *http.Request) {
	id := visitor(r)
	if id == "" {
		http.Error(w, "{}", http.StatusForbidden)
		return
	}
	var minted struct{ Tokens struct{ AccessToken string } }
	err := b.admin(r.Context(), "MintToken", map[string]any{"user": "visitor-" + id, "displayName": "A visitor", "lifetimeMs": "3600000"}, &minted)
	if err == nil {
		var group any
		err = b.admin(r.Context(), "CreateGroupFor", map[string]any{"id": "shop-" + id, "name": "Question from the shop", "owner": b.agent, "members": []string{"visitor-" + id}}, &group)
	}
	if err != nil {
		log.Print(err)
		http.Error(w, "the chat is not there now", http.StatusBadGateway)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"token": minted.Tokens.AccessToken}) // the page may be gone
}

func (b backend) page(w http.ResponseWriter, r *http.Request) {
	page, err := shop.ReadFile("shop/index.html")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	id := visitor(r)
	if id == "" {
		id = rand.Text()
	}
	http.SetCookie(w, &http.Cookie{Name: "visitor", Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'self' "+b.skein+"; connect-src 'self' "+b.skein+" "+strings.Replace(b.skein, "http", "ws", 1)+"; img-src 'self' blob:")
	_, _ = w.Write([]byte(strings.NewReplacer("{{skein}}", b.skein, "{{conversation}}", "grp:shop-"+id).Replace(string(page)))) // the browser may be gone
}
