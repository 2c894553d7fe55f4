import type { SkeinError } from "./errors.js"
import type { State } from "./core.js"
import type { Message } from "./message.js"
import type { Announcement, Device, EntryEvent, FeedEventType, GroupEventType, MyState } from "./wire.js"

/** What the program is told. Events about stored things come once each, in their order, also over a restart. */
export interface EventMap {
  /** Somebody's message was applied, or the user's own from another device. */
  message: Message
  /** A message of this client is stored by the server, and applied. */
  sent: Message
  /** A message of this client was refused for good; it stays until retry or discard. */
  failed: { message: Message; error: SkeinError }
  /** A message was taken back; its content is erased. `by` is "" where only the outcome is told. */
  recalled: { conversation: string; seq: number; by: string }
  /** A message is not what it was, other than by a recall. */
  changed: Message
  /** Something happened to a group or its members. */
  group: { conversation: string; type: GroupEventType; by: string; event: EntryEvent; seq: number }
  /** Something in the user's own feed: contacts, invitations, profile, security, what is scheduled. */
  account: { type: FeedEventType; by: string; event: EntryEvent; seq: number }
  /** Too much was missed: these entries were left out; loadOlder reads them. */
  gap: { conversation: string; from: number; to: number }
  /** What was said in from..to disappeared, as it was set to (SetLifetime), or is not kept any more (SPEC §4.33). It has no other event, also where one waited. */
  gone: { conversation: string; from: number; to: number }
  /** The server went back: everything synced was forgotten, and is read anew. */
  reset: Record<string, never>

  // Passing ones: not repeated after a restart.
  /** A message that `messages` does not have was edited, taken back or the like: who shows it from `history` or `around` reads it again. */
  touched: { conversation: string; seq: number }
  /** In the thread of `root` something was said (`message`, also the user's own), or the reply `seq` was changed or taken back: who shows it reads it again. */
  thread: { conversation: string; root: number; seq: number; message: Message | undefined }
  receipt: { conversation: string; user: string; received: number; read: number }
  myState: MyState & { conversation: string }
  typing: { conversation: string; user: string }
  signal: { conversation: string; user: string; type: string; data: Uint8Array }
  /** What a streamed message says so far, beyond what is durable. */
  part: { conversation: string; user: string; seq: number; replaced: number; offset: number; text: string }
  presence: { user: string; online: boolean; lastSeenAtMs: number }
  /** What the deployment announces changed: all of it, in the place of what was before. After each connect GetAnnouncements tells it. */
  announcements: readonly Announcement[]
  /** `by` and `atMs` name the device that took this one's place (code replaced). */
  state: { state: State; error: SkeinError | undefined; by?: Device | undefined; atMs?: number | undefined }
}

export type Unsubscribe = () => void

/** Who listens to what. A listener that throws does not keep the others from hearing. */
export class Events {
  private readonly listeners = new Map<string, Set<(e: never) => void>>()
  private readonly views = new Set<(conversations: readonly string[]) => (() => void) | undefined>()

  on<K extends keyof EventMap>(name: K, f: (e: EventMap[K]) => void): Unsubscribe {
    let all = this.listeners.get(name)
    if (all === undefined) this.listeners.set(name, (all = new Set()))
    all.add(f)
    return () => all.delete(f)
  }

  /** Hears every event, with its number in the store; 0: it passes. */
  tap: (<K extends keyof EventMap>(name: K, e: EventMap[K], n: number) => void) | undefined

  emit<K extends keyof EventMap>(name: K, e: EventMap[K], n = 0): void {
    this.tap?.(name, e, n)
    const all = this.listeners.get(name) as Set<(e: EventMap[K]) => void> | undefined
    for (const f of [...(all ?? [])]) if (all?.has(f)) guarded(() => f(e)) // one before it may have ended it
  }

  /** Tells which conversations look other than before. What f answers is called once all know. */
  onChanged(f: (conversations: readonly string[]) => (() => void) | undefined): Unsubscribe {
    this.views.add(f)
    return () => this.views.delete(f)
  }

  changed(conversations: readonly string[]): void {
    const all = [...this.views].map((f) => f(conversations))
    for (const f of all) if (f !== undefined) guarded(f)
  }
}

/** An error of the program's own is the program's: it is thrown where nobody of the client stands. */
export function guarded(f: () => void): void {
  try {
    f()
  } catch (e) {
    queueMicrotask(() => {
      throw e
    })
  }
}
