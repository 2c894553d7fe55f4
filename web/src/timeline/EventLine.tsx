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

export function hasWords(m: Message): boolean {
  return lineOf(m) !== undefined
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
      return own ? <Trans>You made the group “{l.name}”</Trans> : <Trans>{by} made the group “{l.name}”</Trans>
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
      return own ? <Trans>You lifted the ban of {users}</Trans> : <Trans>{by} lifted the ban of {users}</Trans>
    case "role":
      if (l.role === "admin") return me ? <Trans>{by} made you an admin</Trans> : own ? <Trans>You made {users} an admin</Trans> : <Trans>{by} made {users} an admin</Trans>
      return me ? <Trans>{by} took your admin rights back</Trans> : own ? <Trans>You took the admin rights of {users} back</Trans> : <Trans>{by} took the admin rights of {users} back</Trans>
    case "muted": {
      const until = momentOf(l.untilMs)
      return me ? <Trans>{by} muted you until {until}</Trans> : own ? <Trans>You muted {users} until {until}</Trans> : <Trans>{by} muted {users} until {until}</Trans>
    }
    case "unmuted":
      return me ? <Trans>You may write again</Trans> : <Trans>{users} may write again</Trans>
    case "owner":
      return me ? <Trans>{by} made you the owner of the group</Trans> : own ? <Trans>You made {users} the owner of the group</Trans> : <Trans>{by} made {users} the owner of the group</Trans>
    case "dismissed":
      return own ? <Trans>You dismissed the group</Trans> : <Trans>{by} dismissed the group</Trans>
    case "restored":
      return <Trans>The server lost the latest messages of this group. Its members are as they were.</Trans>
    case "changed":
      return l.changes.map((c, i) => <span key={i}>{i > 0 && " · "}<Changed change={c} by={by} own={own} /></span>)
    case "nickname": {
      const who = scene.names.inLine(l.who)
      if (l.name === "") return l.who === scene.me ? <Trans>You have no nickname here any more</Trans> : <Trans>{who} has no nickname here any more</Trans>
      return l.who === scene.me ? <Trans>You are called “{l.name}” here now</Trans> : <Trans>{who} is called “{l.name}” here now</Trans>
    }
    case "lifetime": {
      if (l.seconds === 0) return own ? <Trans>You had messages stay from here on</Trans> : <Trans>{by} had messages stay from here on</Trans>
      const after = <Duration seconds={l.seconds} />
      return own ? <Trans>You had messages disappear {after} after they are sent</Trans> : <Trans>{by} had messages disappear {after} after they are sent</Trans>
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
      return c.set ? <Trans>Announcement by {by}: <bdi>{c.text}</bdi></Trans> : <Trans>{by} took the announcement away</Trans>
    case "who_may_add":
      return c.power === "all" ? <Trans>All members may add others now</Trans> : <Trans>Only admins may add others now</Trans>
    case "who_may_post":
      return c.power === "all" ? <Trans>All members may write now</Trans> : <Trans>Only admins may write now</Trans>
    case "who_may_mention_all":
      return c.power === "all" ? <Trans>All members may mention everybody now</Trans> : <Trans>Only admins may mention everybody now</Trans>
    case "who_may_pin":
      return c.power === "all" ? <Trans>All members may pin messages now</Trans> : <Trans>Only admins may pin messages now</Trans>
    case "join":
      if (c.how === "open") return <Trans>Whoever has an invite link may join now</Trans>
      return c.how === "approval" ? <Trans>Admins let in who comes by an invite link now</Trans> : <Trans>Invite links do nothing now</Trans>
    case "history":
      return c.all ? <Trans>New members see what was said before now</Trans> : <Trans>New members see what is said from their joining on now</Trans>
    case "muted_all":
      return c.on ? <Trans>Only admins may write for now</Trans> : <Trans>All may write again</Trans>
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
