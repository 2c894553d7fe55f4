import { memo, useMemo, type ReactNode } from "react"
import type { Message } from "@skein-im/client"
import { useScene } from "./context.js"
import { onlyEmoji, parse, type Block, type Inline } from "@skein-im/client/content"
import type { Names } from "./names.js"
import { CustomEmoji, useEmojiNames } from "./stickers.js"
import s from "./Text.module.css"

type Said = Pick<Message, "mentions" | "groupMention">

/** A text as nodes, with the mentions that the message makes. */
export const Text = memo(function Text({ text, of }: { text: string; of?: Said | undefined }) {
  const { names } = useScene()
  const emoji = useEmojiNames()
  const mentions = useMemo(() => mentionNames(of, names), [of, names])
  const blocks = useMemo(() => parse(text, { mentions, emoji: (n) => emoji.has(n) }), [text, mentions, emoji])
  return <div data-text="" className={onlyEmoji(text) ? `${s.text} ${s.large}` : s.text}>{blocks.map((b, i) => <BlockNode key={i} block={b} />)}</div>
})

function mentionNames(of: Said | undefined, names: Pick<Names, "all">): Map<string, string> {
  const out = new Map<string, string>()
  for (const id of of?.mentions ?? []) for (const n of names.all(id)) out.set(n, id)
  if (of?.groupMention === "GROUP_MENTION_ALL") out.set("all", "")
  if (of?.groupMention === "GROUP_MENTION_HERE") out.set("here", "")
  return out
}

function BlockNode({ block: b }: { block: Block }): ReactNode {
  switch (b.t) {
    case "p":
      return <p dir="auto">{spans(b.c)}</p>
    case "pre":
      return <pre className={s.pre} dir="ltr" tabIndex={0}><code>{b.text}</code></pre>
    case "quote":
      return <blockquote className={s.quote}>{b.c.map((c, i) => <BlockNode key={i} block={c} />)}</blockquote>
    case "list": {
      const items = b.items.map((item, i) => <li key={i}>{item.map((c, n) => <BlockNode key={n} block={c} />)}</li>)
      return b.start === undefined ? <ul className={s.list}>{items}</ul> : <ol className={s.list} start={b.start}>{items}</ol>
    }
  }
}

function spans(c: readonly Inline[]): ReactNode[] {
  return c.map((n, i) => <InlineNode key={i} node={n} />)
}

function InlineNode({ node: n }: { node: Inline }): ReactNode {
  switch (n.t) {
    case "text":
      return n.text
    case "br":
      return <br />
    case "strong":
      return <strong>{spans(n.c)}</strong>
    case "em":
      return <em>{spans(n.c)}</em>
    case "del":
      return <del>{spans(n.c)}</del>
    case "code":
      return <code className={s.code}>{n.text}</code>
    case "link":
      return <a href={n.href} target="_blank" rel="noopener noreferrer nofollow" title={n.href}>{spans(n.c)}</a>
    case "mention":
      return <Mention user={n.user} text={n.text} />
    case "emoji":
      return <CustomEmoji name={n.name} />
  }
}

function Mention({ user, text }: { user: string; text: string }): ReactNode {
  const { profile, me } = useScene()
  if (user === "") return <span className={s.mention}>{text}</span>
  return <button type="button" className={user === me ? `${s.mention} ${s.mine}` : s.mention} onClick={() => profile(user)}><bdi>{text}</bdi></button>
}
