import { Plural, Trans } from "@lingui/react/macro"
import { MessagesSquare } from "lucide-react"
import { Link } from "wouter"
import type { Message } from "@skein-im/client"
import { shortTime } from "../conversations/when.js"
import s from "./Message.module.css"

/** The door to the thread that begins with it: how many replies, and when the last one was said. Or to the one that it is said in as well. */
export function Replies({ message: m }: { message: Message }) {
  if (m.thread > 0) {
    return <Link className={s.replies} to={`/c/${m.conversation}/t/${m.thread}`}><MessagesSquare aria-hidden="true" /><Trans>In a thread</Trans></Link>
  }
  return (
    <Link className={s.replies} to={`/c/${m.conversation}/t/${m.seq}`}>
      <MessagesSquare aria-hidden="true" />
      <Plural value={m.replies?.count ?? 0} one="# reply" other="# replies" />
      <span className={s.lastReply}> · {shortTime(m.replies?.lastAtMs ?? 0, Date.now())}</span>
    </Link>
  )
}
