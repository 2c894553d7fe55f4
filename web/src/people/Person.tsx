import { useLingui } from "@lingui/react/macro"
import type { ReactNode } from "react"
import { usePresence, useUser, type Presence, type User } from "@skein-im/react"
import { nameOf } from "../timeline/names.js"
import { Avatar, cx, Tag, type AvatarProps } from "../ui/index.js"
import { useContact } from "./book.js"
import { usePicture } from "./picture.js"
import s from "./People.module.css"

/** What the app calls somebody: the user's remark, else their own name; words for who is deleted or not known yet. */
export function useCalled(id: string, nickname?: string): string {
  const user = useUser(id === "" ? undefined : id)
  const remark = useContact(id)?.remark
  return user === undefined || user.displayName || user.username || user.deleted ? nameOf(user, remark || nickname) : remark || nickname || id
}

/** A picture of somebody by their id. */
export function Face({ id, size, online }: Pick<AvatarProps, "size" | "online"> & { id: string }) {
  const user = useUser(id)
  const name = useCalled(id)
  return <Avatar id={id} name={name} src={usePicture(user?.picture)} {...(size === undefined ? {} : { size })} online={online} />
}

/** The picture of a group. */
export function GroupFace({ id, name, picture, size }: Pick<AvatarProps, "size"> & { id: string; name: string; picture: string | undefined }) {
  return <Avatar id={id} name={name} src={usePicture(picture)} group {...(size === undefined ? {} : { size })} />
}

/** "online", or when somebody was last here; "" where it is not known. */
export function useSeen(): (p: Presence | undefined) => string {
  const { t, i18n } = useLingui()
  return (p) => {
    if (p === undefined) return ""
    if (p.online) return t`online`
    if (p.lastSeenAtMs === 0) return ""
    const at = new Date(p.lastSeenAtMs)
    const minutes = Math.floor((Date.now() - at.getTime()) / 60_000)
    if (minutes < 1) return t`last seen just now`
    if (minutes < 60) return t`last seen ${minutes} min ago`
    const time = i18n.date(at, { timeStyle: "short" })
    if (at.toDateString() === new Date().toDateString()) return t`last seen at ${time}`
    const day = i18n.date(at, { day: "numeric", month: "short", ...(at.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }) })
    return t`last seen ${day}`
  }
}

export interface PersonProps {
  id: string
  /** Where presence is not told: under the name. */
  about?: ReactNode
  /** Has the light of presence; default true. */
  presence?: boolean
  nickname?: string | undefined
  /** Beside the name. */
  mark?: ReactNode
  /** At the end of the line: buttons. */
  end?: ReactNode
  onOpen?: (() => void) | undefined
  /** Below the line: what they say, what can be answered. */
  children?: ReactNode
}

/** A line of a list of people. */
export function Person({ id, about, presence = true, nickname, mark, end, onOpen, children }: PersonProps) {
  const { t } = useLingui()
  const user: User | undefined = useUser(id)
  const name = useCalled(id, nickname)
  const p = usePresence(presence ? id : undefined)
  const seen = useSeen()(p)
  const below = about ?? (seen || (user?.username ? `@${user.username}` : ""))
  const inner = (
    <>
      <Face id={id} online={p?.online} />
      <span className={s.words}>
        <span className={s.nameLine}><bdi className={s.name}>{name}</bdi>{user?.guest && <Tag>{t`Guest`}</Tag>}{mark}</span>
        {below !== "" && <span className={cx(s.below, p?.online && about === undefined && s.here)}>{below}</span>}
      </span>
    </>
  )
  return (
    <li>
      <div className={s.person}>
        {onOpen === undefined ? <span className={s.open}>{inner}</span> : <button type="button" className={cx(s.open, s.touch)} onClick={onOpen}>{inner}</button>}
        {end !== undefined && <span className={s.end}>{end}</span>}
      </div>
      {children}
    </li>
  )
}
