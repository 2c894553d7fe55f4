package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// tokensLast is longer than any scenario lets the clock go on.
const tokensLast = 30 * 24 * time.Hour

// callTime bounds one HTTP request: adding very many members takes a while.
const callTime = 2 * time.Minute

// call makes an API request with a token or the admin key, as often as the
// server's rate limit sends it away.
func (s *Server) call(ctx context.Context, token, method string, in, out proto.Message) error {
	body, err := protojson.Marshal(in)
	if err != nil {
		return err
	}
	for {
		wait, err := s.callOnce(ctx, token, method, body, out)
		if err != nil || wait == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// callOnce makes the request and returns how long to wait before asking again,
// 0 if it is done.
func (s *Server) callOnce(ctx context.Context, token, method string, body []byte, out proto.Message) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.api+"/api/"+method, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := apiClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return 0, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, out)
	case http.StatusTooManyRequests:
		var refused struct {
			RetryAfterMs int64 `json:"retryAfterMs"`
		}
		if err := json.Unmarshal(raw, &refused); err != nil {
			return 0, fmt.Errorf("%s: %s: %s", method, resp.Status, raw)
		}
		return time.Duration(refused.RetryAfterMs+1) * time.Millisecond, nil
	}
	return 0, fmt.Errorf("%s: %s: %s", method, resp.Status, raw)
}

// apiClient keeps as many connections as users are made at a time.
var apiClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// register makes n users and their tokens. With a token file they are read from
// it, or written to it when it does not exist.
func (s *Server) register(ctx context.Context, o *Options, n int) ([]userPlan, error) {
	if s.floor {
		users := make([]userPlan, n)
		for i := range users {
			users[i].ID = userName(i)
			users[i].Token = users[i].ID
		}
		return users, nil
	}
	if o.Tokens != "" {
		switch users, err := readTokens(o.Tokens); {
		case err == nil && len(users) < n:
			return nil, fmt.Errorf("%s has %d users, %d are needed", o.Tokens, len(users), n)
		case err == nil:
			return users[:n], nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	users := make([]userPlan, n)
	start := time.Now()
	err := each(ctx, n, 32, func(i int) error {
		var got wire.MintTokenResponse
		id := userName(i)
		if err := s.call(ctx, s.key, "skein.v1.AdminService/MintToken", &wire.MintTokenRequest{User: id, Device: device(), LifetimeMs: tokensLast.Milliseconds()}, &got); err != nil {
			return err
		}
		users[i] = userPlan{ID: id, Token: got.GetTokens().GetAccessToken()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	o.progress("  %d users registered in %.1f s", n, time.Since(start).Seconds())
	if o.Tokens != "" {
		return users, writeTokens(o.Tokens, users)
	}
	return users, nil
}

func userName(i int) string { return fmt.Sprintf("bench%06d", i) }

// A token file has a line for each user: its id and its access token.
func writeTokens(path string, users []userPlan) error {
	var b bytes.Buffer
	for _, u := range users {
		fmt.Fprintf(&b, "%s %s\n", u.ID, u.Token)
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

func readTokens(path string) ([]userPlan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var users []userPlan
	sc := bufio.NewScanner(f)
	for line := 1; sc.Scan(); line++ {
		id, token, ok := strings.Cut(strings.TrimSpace(sc.Text()), " ")
		if !ok {
			return nil, fmt.Errorf("%s:%d: want a user id and a token", path, line)
		}
		users = append(users, userPlan{id, token})
	}
	return users, sc.Err()
}

// group makes a group of the users, the first its owner, and returns it with
// the time that adding all but the first two took.
func (s *Server) group(ctx context.Context, name string, users []userPlan) (conversation string, adding time.Duration, err error) {
	if s.floor {
		return "grp:" + name, 0, nil
	}
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	const atOnce = 1000 // what one AddMembers takes
	// The first members are few, so that most come by AddMembers and are timed.
	first := min(len(ids), 2)
	var made wire.CreateGroupResponse
	if err := s.call(ctx, users[0].Token, "skein.v1.GroupService/CreateGroup", &wire.CreateGroupRequest{Name: name, Members: ids[1:first]}, &made); err != nil {
		return "", 0, err
	}
	conversation = made.GetGroup().GetConversation()
	start := time.Now()
	for rest := ids[first:]; len(rest) > 0; {
		n := min(len(rest), atOnce)
		if err := s.call(ctx, users[0].Token, "skein.v1.GroupService/AddMembers", &wire.AddMembersRequest{Conversation: conversation, Users: rest[:n]}, new(wire.AddMembersResponse)); err != nil {
			return "", 0, err
		}
		rest = rest[n:]
	}
	return conversation, time.Since(start), nil
}
