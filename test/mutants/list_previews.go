package main

// previews are bugs of link previews (SPEC §4.34).
var previews = []Mutant{
	{
		Name: "addresses-are-not-judged", Breaks: "nothing but public addresses is fetched from: each is judged when it is connected to",
		Hunks:   []Hunk{{"internal/preview/fetch.go", "f.dialer = &net.Dialer{Timeout: begin, Control: f.judge.Control}", "f.dialer = &net.Dialer{Timeout: begin}"}},
		Package: "internal/preview", Test: "TestNoSpellingReachesThisMachine",
	},
	{
		Name: "mapped-addresses-pass", Breaks: "an address that holds another one is judged as what it holds",
		Hunks:   []Hunk{{"internal/outward/outward.go", "a := at.Addr().Unmap()", "a := at.Addr()"}, {"internal/outward/outward.go", "a.IsMulticast() || in(special, a) || a.Is6() && !global.Contains(a)", "a.IsMulticast() || in(special, a)"}},
		Package: "internal/outward", Test: "TestAddresses",
	},
	{
		Name: "any-port", Breaks: "the web's ports alone are fetched from",
		Hunks:   []Hunk{{"internal/outward/outward.go", "!slices.Contains(j.Ports, at.Port())", "at.Port() == 0"}},
		Package: "internal/outward", Test: "TestAddresses",
	},
	{
		Name: "credentials-are-sent-on", Breaks: "no credentials are sent, also not by a redirect",
		Hunks:   []Hunk{{"internal/preview/fetch.go", "case u.User != nil:", "case u.User != nil && u.Host == \"\":"}},
		Package: "internal/preview", Test: "TestNothingElseIsSent",
	},
	{
		Name: "referrer-is-sent", Breaks: "nothing is sent but who asks for what",
		Hunks:   []Hunk{{"internal/preview/fetch.go", "	r.Header.Del(\"Referer\")\n", ""}},
		Package: "internal/preview", Test: "TestNothingElseIsSent",
	},
	{
		Name: "unpacked-without-end", Breaks: "what is unpacked is bounded as what comes",
		Hunks:   []Hunk{{"internal/preview/fetch.go", "b, err := io.ReadAll(io.LimitReader(r, most+1))", "b, err := io.ReadAll(r)"}},
		Package: "internal/preview", Test: "TestUnpackedIsBounded",
	},
	{
		Name: "hosts-are-not-spared", Breaks: "a host is fetched from so often and no more",
		Hunks:   []Hunk{{"internal/preview/fetch.go", ".take(f.now(), hostRate, hostBurst) ||", ".take(f.now(), hostRate, 1e9) ||"}},
		Package: "internal/preview", Test: "TestHostsAreSpared",
	},
	{
		Name: "directions-are-told", Breaks: "what a page says is told without characters that turn it",
		Hunks:   []Hunk{{"internal/preview/page.go", "case unicode.In(r, unicode.C):", "case unicode.In(r, unicode.Cc):"}},
		Package: "internal/preview", Test: "TestPages",
	},
	{
		Name: "old-messages-are-looked-at", Breaks: "what was said long ago is not looked at",
		Hunks:   []Hunk{{"internal/preview/preview.go", "s.o.Now().Sub(e.Stored) > oldest", "e.Stored.IsZero()"}},
		Package: "internal/preview", Test: "TestWhatIsLookedAt",
	},
	{
		Name: "no-preview-is-not-kept", Breaks: "who asks for no preview has none",
		Hunks:   []Hunk{{"internal/entrycodec/preview.go", "if t.NoPreview || t.Streaming {", "if t.Streaming {"}},
		Package: messagingDir, Test: "TestPreviewsAreTheServers",
	},
	{
		Name: "preview-outlives-its-link", Breaks: "an edit that gives a message another link takes the preview away",
		Hunks:   []Hunk{{"internal/entrycodec/amend.go", "	s.dropPreview()\n", ""}},
		Package: messagingDir, Test: "TestPreview",
	},
	{
		Name: "preview-stays-in-its-entry", Breaks: "a recall erases all of a preview: its entry keeps none of it",
		Hunks:   []Hunk{{messagingDir + "/preview.go", "m.told, m.kept = told, nil", "m.told, m.kept = told, told"}},
		Package: messagingDir, Test: "TestPreview",
	},
	{
		Name: "preview-picture-is-not-doubted", Breaks: "the picture of a preview that is gone is thrown away",
		Hunks:   []Hunk{{messagingDir + "/media.go", "if n, ok := previewNamed(e); ok {", "if n, ok := previewNamed(e); ok && n.Conversation == \"\" {"}},
		Package: messagingDir, Test: "TestPreview",
	},
	{
		Name: "members-make-previews", Breaks: "a preview is the server's word",
		Hunks:   []Hunk{{messagingDir + "/send.go", "im.EntryStream, im.EntryReply:", "im.EntryStream, im.EntryReply, im.EntryPreview:"}, {messagingDir + "/preview.go", "if target.Recalled || e.Sender != \"\" {", "if target.Recalled {"}},
		Package: messagingDir, Test: "TestPreviewsAreTheServers",
	},
	{
		Name: "server-uploads-are-anybodys", Breaks: "13.1: an upload belongs to its uploader, also the server's",
		Hunks:   []Hunk{{"internal/media/small.go", "Owner: im.ServerUploads, Size", "Owner: \"ann\", Size"}, {"internal/media/small.go", "s.Write(ctx, im.ServerUploads,", "s.Write(ctx, \"ann\","}},
		Package: "internal/media", Test: "TestKeepSmall",
	},
}
