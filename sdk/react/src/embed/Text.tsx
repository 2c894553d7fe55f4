import { memo, useMemo, type ReactElement, type ReactNode } from "react"
import type { Message } from "@skein-im/client"
import { onlyEmoji, parse, type Block, type Inline } from "@skein-im/client/content"
import { useScene } from "./scene.js"

const noEmoji = (): boolean => false

/** A text as nodes (SPEC §11.2), with the mentions that the message makes. Text is text: there is no way from here to markup. */
export const Text = memo(function Text({ text, of }: { text: string; of: Message }): ReactElement {
  const { name } = useScene()
  const blocks = useMemo(() => {
    const mentions = new Map(of.mentions.map((id) => [name(id), id]))
    if (of.groupMention !== undefined) mentions.set(of.groupMention === "GROUP_MENTION_ALL" ? "all" : "here", "")
    return parse(text, { mentions, emoji: noEmoji })
  }, [text, of, name])
  return <div className={onlyEmoji(text) ? "text large" : "text"}>{blocks.map(block)}</div>
})

function block(b: Block, key: number): ReactNode {
  switch (b.t) {
    case "p":
      return <p key={key} dir="auto">{b.c.map(span)}</p>
    case "pre":
      return <pre key={key} dir="ltr" tabIndex={0}><code>{b.text}</code></pre>
    case "quote":
      return <blockquote key={key}>{b.c.map(block)}</blockquote>
    case "list": {
      const items = b.items.map((item, i) => <li key={i}>{item.map(block)}</li>)
      return b.start === undefined ? <ul key={key}>{items}</ul> : <ol key={key} start={b.start}>{items}</ol>
    }
  }
}

function span(n: Inline, key: number): ReactNode {
  switch (n.t) {
    case "text":
      return n.text
    case "br":
      return <br key={key} />
    case "strong":
      return <strong key={key}>{n.c.map(span)}</strong>
    case "em":
      return <em key={key}>{n.c.map(span)}</em>
    case "del":
      return <del key={key}>{n.c.map(span)}</del>
    case "code":
      return <code key={key}>{n.text}</code>
    case "link":
      return <a key={key} href={n.href} target="_blank" rel="noopener noreferrer nofollow" title={n.href}>{n.c.map(span)}</a>
    case "mention":
      return <bdi key={key} className="mention">{n.text}</bdi>
    case "emoji":
      return `:${n.name}:`
  }
}
