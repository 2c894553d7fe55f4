import { Plural, Trans, useLingui } from "@lingui/react/macro"
import type { Summary } from "@skein-im/client"
import { useClient, useTyping } from "@skein-im/react"
import { AtSign, BellOff, Bookmark, Pin } from "lucide-react"
import { memo, type ReactNode } from "react"
import { Link } from "wouter"
import { useName } from "../timeline/names.js"
import { Status } from "../timeline/Status.js"
import { Summary as InOneLine } from "../timeline/Summary.js"
import { Avatar, Badge, ContextMenu, cx, Dot, later } from "../ui/index.js"
import { isMuted } from "./order.js"
import { useTitle } from "./title.js"
import { shortTime } from "./when.js"
import s from "./ConversationList.module.css"

const RowMenu = later(() => import("./RowMenu.js").then((m) => m.RowMenu))

/** A conversation in the list. */
export const Row = memo(function Row({ c, selected }: { c: Summary; selected: boolean }) {
  const { t } = useLingui()
  const client = useClient()
  const title = useTitle(c.id)
  const now = client.serverTimeMs()
  const muted = isMuted(c, now)
  return (
    <li>
      <ContextMenu menu={<RowMenu c={c} muted={muted} />}>
        <Link to={`/c/${c.id}`} className={cx(s.row, selected && s.selected, (c.unread > 0 || c.markedUnread) && s.unread)} aria-current={selected ? "page" : undefined}>
          {title.kind === "saved" ? <span className={s.saved} aria-hidden="true"><Bookmark /></span> : <Avatar id={title.id} name={title.name} src={title.picture} group={title.kind === "group"} online={title.online} />}
          <span className={s.body}>
            <span className={s.line}>
              <span className={s.name}><bdi>{title.name}</bdi></span>
              {muted && <BellOff className={s.sign} role="img" aria-label={t`Muted`} />}
              {c.lastAtMs > 0 && <time className={s.time} dateTime={new Date(c.lastAtMs).toISOString()}>{shortTime(c.lastAtMs, now)}</time>}
            </span>
            <span className={s.line}>
              <span className={s.preview}><Preview c={c} selected={selected} /></span>
              {c.unreadMentions > 0 && <span className={s.mention} role="img" aria-label={t`You are mentioned`}><AtSign /></span>}
              {c.unread > 0 ? <Badge count={c.unread} quiet={muted} label={t`${c.unread} unread`} /> : c.markedUnread ? <Dot label={t`Marked as unread`} /> : c.mine.pinned === true && <Pin className={s.sign} role="img" aria-label={t`Pinned`} />}
            </span>
          </span>
        </Link>
      </ContextMenu>
    </li>
  )
})

/** Who is typing, what was begun, or what was said last: the first of these that there is. */
function Preview({ c, selected }: { c: Summary; selected: boolean }): ReactNode {
  const { users } = useTyping(c.id)
  const [first] = users
  if (first !== undefined) return <Typing conversation={c.id} first={first} more={users.length - 1} />
  const draft = c.mine.draft ?? ""
  if (draft !== "" && !selected) return <><span className={s.draft}><Trans>Draft:</Trans></span> {draft.slice(0, 200)}</>
  if (c.last === undefined) return c.member ? null : <Trans>You are no longer a member</Trans>
  if (c.last.kind === "event") return <EventPreview />
  return (
    <>
      {c.last.own && c.last.status !== "" && !c.last.recalled && <span className={s.tick}><Status message={c.last} /></span>}
      {c.kind === "group" && <Sender id={c.last.sender} own={c.last.own} />}
      <InOneLine message={c.last} />
    </>
  )
}

function Typing({ conversation, first, more }: { conversation: string; first: string; more: number }) {
  const name = useName(first)
  const group = conversation.startsWith("grp:")
  return (
    <span className={s.typing}>
      {!group ? <Trans>typing …</Trans> : more > 0 ? <Plural value={more} one={<Trans>{name} and # other are typing …</Trans>} other={<Trans>{name} and # others are typing …</Trans>} /> : <Trans>{name} is typing …</Trans>}
    </span>
  )
}

function Sender({ id, own }: { id: string; own: boolean }) {
  const name = useName(own || id === "" ? undefined : id)
  if (id === "") return null
  return <>{own ? <Trans>You</Trans> : <bdi>{name}</bdi>}: </>
}

function EventPreview() {
  return <Trans>Group updated</Trans>
}
