import { type ReactNode } from "react"
import { Plural, Trans } from "@lingui/react/macro"
import type { Message } from "@skein-im/client"
import { useScene, type Scene } from "./context.js"
import { lineOf, spanOf, type Change, type Line } from "./events.js"
import { momentOf } from "./format.js"

/** What happened in a conversation, in plain words; nothing for an event of a later version. */
export function EventLine({ message }: { message: Message }): ReactNode {
  const scene = useScene()
  const line = lineOf(message)
  return line === undefined ? null : <Words line={line} scene={scene} />
}

function People({ users, scene }: { users: readonly string[]; scene: Scene }) {
  const shown = users.length > 4 ? users.slice(0, 3) : users
  const more = users.length - shown.length
  const names = shown.map((u) => scene.names.inLine(u)).join(", ")
  return more > 0 ? <Trans>{names} and <Plural value={more} one="# other" other="# others" /></Trans> : <>{names}</>
}

function Words({ line: l, scene }: { line: Line; scene: Scene }): ReactNode {
  const by = "by" in l ? scene.names.inLine(l.by) : ""
  const own = "by" in l && l.by === scene.me
  const users = "users" in l ? <People users={l.users} scene={scene} /> : null
  const me = "users" in l && l.users.length === 1 && l.users[0] === scene.me
  switch (l.t) {
    case "created":
      return own ? <Trans>You created the group “{l.name}”</Trans> : <Trans>{by} created the group “{l.name}”</Trans>
    case "renamed":
      return own ? <Trans>You renamed the group to “{l.name}”</Trans> : <Trans>{by} renamed the group to “{l.name}”</Trans>
    case "joined":
      return l.who === scene.me ? <Trans>You joined</Trans> : <Trans>{scene.names.inLine(l.who)} joined</Trans>
    case "added":
      return me ? <Trans>{by} added you</Trans> : own ? <Trans>You added {users}</Trans> : <Trans>{by} added {users}</Trans>
    case "left":
      return l.who === scene.me ? <Trans>You left</Trans> : <Trans>{scene.names.inLine(l.who)} left</Trans>
    case "removed":
      return me ? <Trans>{by} removed you</Trans> : own ? <Trans>You removed {users}</Trans> : <Trans>{by} removed {users}</Trans>
    case "banned":
      return <Banned l={l} by={by} own={own} me={me} users={users} />
    case "unbanned":
      return own ? <Trans>You unbanned {users}</Trans> : <Trans>{by} unbanned {users}</Trans>
    case "role":
      if (l.role === "admin") return me ? <Trans>{by} made you an admin</Trans> : own ? <Trans>You made {users} an admin</Trans> : <Trans>{by} made {users} an admin</Trans>
      return me ? <Trans>{by} removed you as an admin</Trans> : own ? <Trans>You removed {users} as an admin</Trans> : <Trans>{by} removed {users} as an admin</Trans>
    case "muted": {
      const until = momentOf(l.untilMs)
      return me ? <Trans>{by} muted you until {until}</Trans> : own ? <Trans>You muted {users} until {until}</Trans> : <Trans>{by} muted {users} until {until}</Trans>
    }
    case "unmuted":
      return me ? <Trans>You can write again</Trans> : <Trans>{users} can write again</Trans>
    case "owner":
      return me ? <Trans>{by} made you the owner of the group</Trans> : own ? <Trans>You made {users} the owner of the group</Trans> : <Trans>{by} made {users} the owner of the group</Trans>
    case "dismissed":
      return own ? <Trans>You closed the group</Trans> : <Trans>{by} closed the group</Trans>
    case "restored":
      return <Trans>The server lost the latest messages of this group. Its members are as they were.</Trans>
    case "changed":
      return l.changes.map((c, i) => <span key={i}>{i > 0 && " · "}<Changed change={c} by={by} own={own} /></span>)
    case "nickname": {
      const who = scene.names.inLine(l.who)
      if (l.name === "") return l.who === scene.me ? <Trans>You removed your nickname here</Trans> : <Trans>{who} no longer has a nickname here</Trans>
      return l.who === scene.me ? <Trans>You are now called “{l.name}” here</Trans> : <Trans>{who} is now called “{l.name}” here</Trans>
    }
    case "lifetime": {
      if (l.seconds === 0) return own ? <Trans>You turned off disappearing messages</Trans> : <Trans>{by} turned off disappearing messages</Trans>
      const after = <Duration seconds={l.seconds} />
      return own ? <Trans>You set messages to disappear {after} after they are sent</Trans> : <Trans>{by} set messages to disappear {after} after they are sent</Trans>
    }
  }
}

function Banned({ l, by, own, me, users }: { l: Line & { t: "banned" }; by: string; own: boolean; me: boolean; users: ReactNode }) {
  const what = me ? <Trans>{by} banned you</Trans> : own ? <Trans>You banned {users}</Trans> : <Trans>{by} banned {users}</Trans>
  return (
    <>
      {what}
      {l.untilMs > 0 && <> <Trans>until {momentOf(l.untilMs)}</Trans></>}
      {l.reason !== "" && <>: <bdi>{l.reason}</bdi></>}
    </>
  )
}

function Changed({ change: c, by, own }: { change: Change; by: string; own: boolean }): ReactNode {
  switch (c.what) {
    case "picture":
      return own ? <Trans>You changed the picture of the group</Trans> : <Trans>{by} changed the picture of the group</Trans>
    case "description":
      return own ? <Trans>You changed the description</Trans> : <Trans>{by} changed the description</Trans>
    case "announcement":
      return c.set ? <Trans>Announcement by {by}: <bdi>{c.text}</bdi></Trans> : <Trans>{by} removed the announcement</Trans>
    case "who_may_add":
      return c.power === "all" ? <Trans>All members can now add people</Trans> : <Trans>Only admins can now add people</Trans>
    case "who_may_post":
      return c.power === "all" ? <Trans>All members can now write</Trans> : <Trans>Only admins can now write</Trans>
    case "who_may_mention_all":
      return c.power === "all" ? <Trans>All members can now mention everyone</Trans> : <Trans>Only admins can now mention everyone</Trans>
    case "who_may_pin":
      return c.power === "all" ? <Trans>All members can now pin messages</Trans> : <Trans>Only admins can now pin messages</Trans>
    case "join":
      if (c.how === "open") return <Trans>Anyone with an invite link can now join</Trans>
      return c.how === "approval" ? <Trans>Joining by invite link now needs an admin’s approval</Trans> : <Trans>Invite links are now off</Trans>
    case "history":
      return c.all ? <Trans>New members now see earlier messages, too</Trans> : <Trans>New members now see messages sent after they join</Trans>
    case "muted_all":
      return c.on ? <Trans>Only admins can write for now</Trans> : <Trans>Everyone can write again</Trans>
    case "slow_mode":
      return c.seconds === 0 ? <Trans>Slow mode is off</Trans> : <Trans>Slow mode: one message each <Duration seconds={c.seconds} /></Trans>
    case "other":
      return own ? <Trans>You changed the settings of the group</Trans> : <Trans>{by} changed the settings of the group</Trans>
  }
}

export function Duration({ seconds }: { seconds: number }): ReactNode {
  const { n, unit } = spanOf(seconds)
  switch (unit) {
    case "day":
      return <Plural value={n} one="# day" other="# days" />
    case "hour":
      return <Plural value={n} one="# hour" other="# hours" />
    case "minute":
      return <Plural value={n} one="# minute" other="# minutes" />
    case "second":
      return <Plural value={n} one="# second" other="# seconds" />
  }
}
