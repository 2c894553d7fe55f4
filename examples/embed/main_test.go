package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/server"
	"github.com/skein-im/skein/wire"
)

// A visitor's page gets a token with which the visitor writes to the agent, and a
// stranger's gets none.
func TestShop(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	data := t.TempDir()
	s, err := server.Open(ctx, server.Options{Settings: map[string]string{"data": data, "http.listen": "127.0.0.1:0", "admin.listen": ""}})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	key, err := os.ReadFile(filepath.Join(data, "keys", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	b := backend{skein: s.URL(), adminKey: strings.TrimSpace(string(key)), agent: "agent"}
	var agent wire.MintTokenResponse
	if err := skein.Post(ctx, s.URL(), "skein.v1.AdminService/MintToken", b.adminKey, &wire.MintTokenRequest{User: "agent", DisplayName: "Agent"}, &agent); err != nil {
		t.Fatal(err)
	}

	web := httptest.NewServer(b.handler())
	defer web.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	if token, status := tokenOf(t, browser, web.URL); status != http.StatusForbidden || token != "" {
		t.Errorf("without a page: %d %q", status, token)
	}
	conversation := conversationOf(t, browser, web.URL)
	for range 2 { // the second finds the group
		token, status := tokenOf(t, browser, web.URL)
		if status != http.StatusOK {
			t.Fatalf("a token: %d", status)
		}
		var sent wire.SendMessageResponse
		id := skein.NewMessageID()
		req := &wire.SendMessageRequest{Conversation: conversation, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}}}
		if err := skein.Post(ctx, s.URL(), "skein.v1.MessageService/SendMessage", token, req, &sent); err != nil {
			t.Fatal(err)
		}
	}
	var got wire.ListEntriesResponse
	if err := skein.Post(ctx, s.URL(), "skein.v1.MessageService/ListEntries", agent.Tokens.AccessToken, &wire.ListEntriesRequest{Conversation: conversation, From: 1, Limit: 10}, &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Entries); n < 2 || got.Entries[n-1].GetContent().GetText() != "hello" {
		t.Errorf("the agent reads %v", got.Entries)
	}
}

func tokenOf(t *testing.T, browser *http.Client, url string) (token string, status int) {
	t.Helper()
	resp, err := browser.Post(url+"/chat-token", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Token, resp.StatusCode
}

func conversationOf(t *testing.T, browser *http.Client, url string) string {
	t.Helper()
	resp, err := browser.Get(url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page strings.Builder
	if err := resp.Write(&page); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`conversation="(grp:shop-[^"]+)"`).FindStringSubmatch(page.String())
	if m == nil {
		t.Fatalf("no conversation in %s", page.String())
	}
	return m[1]
}
