package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// exportTo is where an export is written.
type exportTo struct {
	To string `help:"The file that is written; nothing is written over." required:"" placeholder:"FILE"`
}

// download writes an export to a file that is there only if it is whole.
func (e *exportTo) download(ctx context.Context, server, path string) error {
	part := e.To + ".part"
	if _, err := os.Lstat(e.To); err == nil {
		return fmt.Errorf("%s is there already", e.To)
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := skein.DownloadExport(ctx, server, path, f)
	var m *skein.ExportManifest
	if err == nil {
		m, err = skein.VerifyExport(f, n)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(part, e.To) // does not write over what came there meanwhile
	}
	if removed := os.Remove(part); err != nil {
		return errors.Join(err, removed)
	}
	return showExport(e.To, m)
}

// showExport tells what is in an export; an error that not all is that should be.
func showExport(file string, m *skein.ExportManifest) error {
	fmt.Printf("%s is whole: of %s, %d conversations, %d entries, %d files, %d bytes\n", file, m.User, m.Conversations, m.Entries, m.Media, m.Bytes)
	for _, l := range m.LeftOut {
		fmt.Printf("left out, %s: %s%s #%d\n", l.Why, l.Media, " "+l.Conversation, l.Seq)
	}
	if !m.Complete {
		return errors.New("the server lacked something: see what was left out")
	}
	return nil
}

type exportCmd struct {
	ownAccount `embed:""`
	exportTo   `embed:""`
}

func (c *exportCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(password string, call func(string, proto.Message, proto.Message) error) error {
		var is wire.GetSecurityResponse
		if err := call("GetSecurity", &wire.GetSecurityRequest{}, &is); err != nil {
			return err
		}
		req := &wire.BeginExportRequest{Password: password}
		if is.Totp {
			var err error
			if req.Code, err = readPassword("Another code of the app, or a recovery code: "); err != nil {
				return err
			}
		}
		var begun wire.BeginExportResponse
		if err := call("BeginExport", req, &begun); err != nil {
			return err
		}
		return c.download(ctx, c.Server, begun.Path)
	})
}

type userExportCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
	exportTo    `embed:""`
}

func (c *userExportCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	var begun wire.ExportUserResponse
	if err := c.call(ctx, "AdminService/ExportUser", &wire.ExportUserRequest{User: id}, &begun); err != nil {
		return err
	}
	return c.download(ctx, c.Server, begun.Path)
}

type verifyExportCmd struct {
	File string `arg:"" help:"The zip."`
}

func (c *verifyExportCmd) Run() error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	m, err := skein.VerifyExport(f, size)
	if err != nil {
		return err
	}
	return showExport(c.File, m)
}
