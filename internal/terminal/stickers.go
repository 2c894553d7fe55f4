package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/skein-im/skein/wire"
)

// stickerCmd sends a sticker; without a name it tells which there are.
func (c *Chat) stickerCmd(ctx context.Context, args []string) error {
	all, err := c.client.Stickers(ctx, nil)
	if err != nil {
		return err
	}
	for _, p := range all.Packs {
		switch {
		case len(args) == 0:
			c.printf("        %s · %s: %s\n", clean(p.Name), clean(p.Title), clean(namesOf(p.Stickers)))
		case p.Name == args[0] && len(args) == 1:
			for _, s := range p.Stickers {
				c.printf("        %s  %s %s\n", clean(s.Name), clean(strings.Join(s.Emoji, " ")), clean(s.Alt))
			}
			return nil
		case p.Name == args[0]:
			for _, s := range p.Stickers {
				if s.Name == args[1] {
					_, err := c.client.Conversation(c.current()).SendSticker(ctx, p.Name, s.Name, s.Alt)
					return err
				}
			}
		}
	}
	switch {
	case len(args) > 0:
		return fmt.Errorf("there is no such sticker: %s; /sticker lists them", strings.Join(args, " "))
	case len(all.Packs) == 0:
		c.printf("        · this server has no stickers\n")
	}
	return nil
}

func namesOf(all []*wire.Sticker) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return strings.Join(names, " ")
}

// emojiCmd tells the custom emoji.
func (c *Chat) emojiCmd(ctx context.Context, _ []string) error {
	all, err := c.client.Stickers(ctx, nil)
	if err != nil {
		return err
	}
	if len(all.Emoji) == 0 {
		c.printf("        · this server has no emoji of its own\n")
	}
	for _, e := range all.Emoji {
		c.printf("        :%s:\n", clean(e.Name))
	}
	return nil
}
