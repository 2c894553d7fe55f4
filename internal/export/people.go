package export

import (
	"archive/zip"
	"encoding/json"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// account writes who the user is.
func (e *export) account() error {
	var profile wire.UpdateProfileResponse // changes nothing, and tells what only they see
	var sessions wire.ListSessionsResponse
	var identities wire.ListIdentitiesResponse
	var security wire.GetSecurityResponse
	for _, err := range []error{
		e.call("UserService/UpdateProfile", &wire.UpdateProfileRequest{}, &profile),
		e.call("AccountService/ListSessions", &wire.ListSessionsRequest{}, &sessions),
		ofUsers(e.call("AccountService/ListIdentities", &wire.ListIdentitiesRequest{}, &identities)),
		ofUsers(e.call("AccountService/GetSecurity", &wire.GetSecurityRequest{}, &security)),
	} {
		if err != nil {
			return err
		}
	}
	e.want(e.own.GetPicture(), place{})
	of := map[string]any{"format": Format, "user": string(e.t.User), "madeAtMs": e.begun.UnixMilli()}
	var err error
	if of["profile"], err = e.kept(&profile); err != nil {
		return err
	}
	if of["security"], err = e.kept(&security); err != nil {
		return err
	}
	all := []json.RawMessage{}
	for _, s := range sessions.GetSessions() {
		one, err := e.kept(s)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	of["sessions"], all = all, []json.RawMessage{}
	for _, i := range identities.GetIdentities() {
		one, err := e.kept(i)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	of["identities"] = all
	return e.file("account.json", func() error { return json.NewEncoder(e.w).Encode(of) })
}

// ofUsers is an error of a call that is for users alone: a guest has nothing of what it tells.
func ofUsers(err error) error {
	if im.CodeOf(err) == im.CodePermissionDenied {
		return nil
	}
	return err
}

// file writes a part of text.
func (e *export) file(name string, fill func() error) error {
	return e.part(name, zip.Deflate, e.begun, fill)
}

func (e *export) contacts() error {
	return e.file("contacts.jsonl", func() error { return e.everyContact(func(c *wire.Contact) bool { return true }) })
}

func (e *export) blocks() error {
	return e.file("blocks.jsonl", func() error { return e.everyContact((*wire.Contact).GetBlocked) })
}

// everyContact writes those that are wanted.
func (e *export) everyContact(wanted func(*wire.Contact) bool) error {
	for cursor := ""; ; {
		var page wire.ListContactsResponse
		if err := e.call("ContactService/ListContacts", &wire.ListContactsRequest{Limit: 500, Cursor: cursor}, &page); err != nil {
			return err
		}
		for _, c := range page.GetContacts() {
			if wanted(c) {
				if err := e.line(c); err != nil {
					return err
				}
			}
		}
		if cursor = page.GetNext(); cursor == "" {
			return e.step()
		}
		if err := e.step(); err != nil {
			return err
		}
	}
}

// scheduled writes what is to be sent later.
func (e *export) scheduled() error {
	return e.file("scheduled.jsonl", func() error {
		for cursor := ""; ; {
			var page wire.ListScheduledResponse
			if err := e.call("MessageService/ListScheduled", &wire.ListScheduledRequest{Limit: 100, Cursor: cursor}, &page); err != nil {
				return err
			}
			for _, s := range page.GetScheduled() {
				if err := e.line(s); err != nil {
					return err
				}
				for _, id := range s.GetMessage().GetMedia() {
					e.want(id, place{})
				}
			}
			if cursor = page.GetNext(); cursor == "" {
				return nil
			}
			if err := e.step(); err != nil {
				return err
			}
		}
	})
}
