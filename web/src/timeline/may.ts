import type { Message } from "@skein-im/client"

/** What a user may do about a message: what is not offered is not refused. */
export interface May {
  reply: boolean
  /** May answer in its thread. */
  thread: boolean
  react: boolean
  edit: boolean
  recall: boolean
  forward: boolean
  copy: boolean
  pin: boolean
  readers: boolean
  select: boolean
  deleteForMe: boolean
  report: boolean
}

export interface Who {
  me: string
  dm: boolean
  admin: boolean
  mayWrite: boolean
  /** It is shown in its thread. */
  inThread: boolean
  /** Nobody but admins pins, in a group that says so. */
  pinByAdmins: boolean
  members: number
  nowMs: number
  editWindowMs: number
  recallWindowMs: number
}

/** SPEC §4.31: a larger group does not tell who has read. */
const mostReaders = 200

export function mayOf(m: Message, w: Who): May {
  const stored = m.seq > 0 && m.kind === "message" && m.status !== "failed"
  const there = stored && !m.recalled
  const within = (ms: number): boolean => ms > 0 && w.nowMs - m.atMs < ms
  return {
    reply: there && w.mayWrite && !w.inThread,
    thread: there && w.mayWrite && !w.inThread,
    react: there && w.mayWrite,
    edit: there && m.own && w.mayWrite && m.type === "text" && m.forward === undefined && !m.streaming && within(w.editWindowMs),
    recall: there && ((m.own && within(w.recallWindowMs)) || (!w.dm && w.admin)),
    forward: there && !m.streaming,
    copy: there && (m.type === "text" || m.fallback !== ""),
    pin: there && w.mayWrite && (w.dm || w.admin || !w.pinByAdmins),
    readers: there && m.own && m.thread === 0 && !w.dm && w.members <= mostReaders,
    select: stored && !w.inThread,
    deleteForMe: stored,
    report: there && !m.own,
  }
}
